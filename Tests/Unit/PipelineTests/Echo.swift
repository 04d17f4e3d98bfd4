import AdCore
import AdEvents
import Records
import Synchronization
import TestValues

@testable import Pipeline

/// The simplest service that uses everything of the protocol: it writes down what it is told, in order.
struct Echo: PipelineService {
  enum Event: Hashable, RejectableEvent {
    case line(String)
    /// Makes a message with a sequence.
    case publish
    case forward
    case reject
    /// The database refuses its row.
    case refused
    /// Changes a row that other partitions change, too.
    case share
    case rejected(Rejection)
  }

  typealias Decider = EchoDecider
  typealias Query = Never
  typealias Knowledge = Never
  typealias Decoder = EchoDecoder

  struct Effects: Sendable {
    var lines: [String] = []
    var isRefused = false
    var isSharing = false
    /// Timers that were done.
    var timers: [Int] = []
  }

  static let name = "echo"
  static let plain = 0
  static let numbered = 1
  var inputs = [
    InputDeclaration(topic: "plain", isSequenced: false), InputDeclaration(topic: "numbered", isSequenced: true),
  ]
  let outputs = ["echoes"]
  let ring = KeyRing.sample
  var publishesWatermarks = true

  static func changesSharedRows(_ effects: Effects) -> Bool { effects.isSharing }

  /// How often each line came.
  static func count(_ effects: Effects, into counts: inout [String: Int64]) {
    for line in effects.lines { counts[line, default: 0] += 1 }
  }

  func makeDecoder() -> EchoDecoder { EchoDecoder() }

  func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? {
    let text = "\(watermark.firstLostSequence)-\(watermark.sequence)"
    return Self.message(watermark.firstLostSequence > 0 ? "lost \(text)" : "watermark")
  }

  static func message(_ text: String) -> OutgoingMessage {
    OutgoingMessage(topic: "echoes", partition: 0, key: nil, value: Array(text.utf8), headers: [])
  }
}

struct EchoDecoder: RecordDecoder {
  mutating func begin() {}
  mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {}
  mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: Echo.Event, sequence: RecordSequence) { (.line(""), .unnumbered) }
}

struct EchoDecider: PartitionDecider {
  typealias Service = Echo

  /// What the state takes of memory, as long as one of it is there.
  final class State: Sendable {}

  let state = State()
  var due: [Int]

  mutating func decide(
    _ records: [InputRecord<Echo.Event>], knowing knowledge: Never?, context: BatchContext
  ) -> BatchDecision<Echo.Effects> {
    var decision = BatchDecision(
      outcomes: Array(repeating: Outcome.accepted, count: records.count), effects: Echo.Effects())
    for (index, record) in records.enumerated() {
      if context.isRefused {
        decision.reject(index, .refusedByDatabase, "")
        continue
      }
      switch record.event {
      case .line(let text): decision.effects.lines.append(text)
      case .publish:
        let sequence = context.nextSequences[0] + Int64(decision.messages.count)
        decision.messages.append(
          NumberedMessage(output: 0, sequence: sequence, message: Echo.message("\(sequence)")))
      case .forward:
        decision.outcomes[index] = .forwarded
        decision.forwards.append(.init(record: index, topic: "plain", partition: 1, headers: []))
      case .reject: decision.reject(index, .malformed, "")
      case .rejected(let rejection): decision.reject(index, rejection.reason, rejection.detail)
      case .refused: decision.effects.isRefused = true
      case .share: decision.effects.isSharing = true
      }
    }
    if records.isEmpty {
      decision.effects.timers = Array(context.timer.of(due))
      due.removeAll { decision.effects.timers.contains($0) }
    }
    return decision
  }

  func isTimerDue(_ context: BatchContext) -> Bool { !due.isEmpty }
}

/// The echo's tables in memory.
final class EchoStore: PipelineStore {
  typealias Service = Echo

  var position = PartitionPosition(
    epoch: 0, batchNumber: 0, watermark: Timestamp(milliseconds: 0), inputs: [.start, .start], outputs: [.start],
    outboxID: 0, history: CommitHistory(timelines: [.sample]))
  /// How far the writer of the input with sequences has come.
  var writers: [Int: WriterStanding] = [:]
  private(set) var writersAsked = 0
  private(set) var findings: [String] = []
  /// Rows of messages by sequence.
  var rows: Set<Int64> = []
  var due: [Int] = []
  var refusedTimers: Set<Int> = []
  /// Nothing is taken, whatever it holds.
  var refusal: RowRefusal?
  /// Several batches are not taken in one transaction.
  var refusesSeveral = false
  /// What is thrown for a transaction with these partitions.
  var failure: (([Int32]) -> PipelineError?)?
  /// The partitions of each transaction that was tried.
  private(set) var transactions: [[Int32]] = []
  private(set) var batches: [CommitBatch<Echo>] = []
  /// As of when each state was loaded.
  private(set) var loadTimes: [Timestamp] = []
  /// How often a state was loaded while the one before it was still there.
  private(set) var loadsBesideAnother = 0
  private weak var loaded: EchoDecider.State?
  private(set) var checkpoints: [Checkpoint] = []
  private(set) var lostSequences: [LostSequences] = []
  private(set) var flushes: [CountFlush<String, Int64>] = []

  var lines: [String] { batches.flatMap(\.effects.lines) }
  var timersDone: [Int] { batches.flatMap(\.effects.timers) }

  func acquire(_ partition: Int32, by claim: PartitionClaim) throws(PipelineError) -> PartitionPosition { position }
  func load(_ partition: Int32, now: Timestamp) throws(PipelineError) -> EchoDecider {
    loadTimes.append(now)
    if loaded != nil { loadsBesideAnother += 1 }
    let decider = EchoDecider(due: due)
    loaded = decider.state
    return decider
  }

  func lookUp(_ query: Never, partition: Int32) throws(PipelineError) -> Never {}

  func commit(_ committed: [CommitBatch<Echo>]) throws(PipelineError) -> Result<[CommitResult], RowRefusal> {
    transactions.append(committed.map(\.partition))
    if let refusal { return .failure(refusal) }
    if refusesSeveral, committed.count > 1 { return .failure(.refused("several")) }
    if let error = failure?(committed.map(\.partition)) { throw error }
    for batch in committed where batch.effects.isRefused || !refusedTimers.isDisjoint(with: batch.effects.timers) {
      return .failure(.refused("a row is refused"))
    }
    for batch in committed {
      due.removeAll { batch.effects.timers.contains($0) }
      batches.append(batch)
      lostSequences += batch.lostSequences
    }
    return .success(committed.map { _ in CommitResult() })
  }

  func flush(_ counts: CountFlush<String, Int64>) { flushes.append(counts) }

  func save(_ checkpoint: Checkpoint) throws(PipelineError) {
    checkpoints.append(checkpoint)
    lostSequences += checkpoint.lostSequences
  }

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int
  ) throws(PipelineError) -> [NumberedMessage] {
    rows.filter { $0 >= sequence }.sorted().prefix(limit).map {
      NumberedMessage(output: output, sequence: $0, message: Echo.message("\($0)"))
    }
  }

  func outbox(_ partition: Int32, after id: Int64, limit: Int) throws(PipelineError) -> [OutboxEntry] {
    let waiting = batches.flatMap(\.outbox).filter { $0.id > id }
    return Array(waiting.prefix(limit))
  }

  func gapRequests(_ partition: Int32) throws(PipelineError) -> [ReceivedGapRequest] { [] }
  func writers(_ partition: Int32) throws(PipelineError) -> [Int: WriterStanding] {
    writersAsked += 1
    return writers
  }
  func note(finding: String, partition: Int32, epoch: Int64) throws(PipelineError) {
    guard epoch == position.epoch else { throw .fenced }
    findings.append(finding)
  }
}

/// Keeps what is published.
final class EchoWriter: TopicWriter {
  private(set) var sent: [(text: String, receipt: Receipt?)] = []
  private(set) var marks: [TimelineMark?] = []

  var texts: [String] { sent.map(\.text) }

  func send(_ message: OutgoingMessage, receipt: Receipt?) throws(PipelineError) {
    let mark = message.headers.first { $0.name == Array("\(TimelineMark.headerName)".utf8) }
    marks.append(mark.flatMap { TimelineMark($0.text) })
    sent.append((String(decoding: message.value ?? [], as: UTF8.self), receipt))
  }
}

/// One partition of the echo.
final class EchoPartition {
  let store: EchoStore
  let writer = EchoWriter()
  let clock = MovingClock(Timestamp(milliseconds: 1_000_000))
  let pipeline: PartitionPipeline<EchoStore, EchoWriter>
  private(set) var alarms: [PipelineAlarm] = []
  private var offsets: [Int64] = [0, 0]

  init(_ service: Echo = Echo(), partition: Int32 = 0, in store: EchoStore = EchoStore()) {
    self.store = store
    pipeline = PartitionPipeline(
      service: service, partition: partition, partitionCount: 2, store: store, writer: writer, clock: clock)
    pipeline.alarm = { [unowned self] in alarms.append($0) }
  }

  /// - Parameter marks: what the last record of each topic tells.
  @discardableResult
  func open(
    firstOffset: Int64 = 0, since earlier: CommittedBatch? = nil, marks: [String: TimelineMark] = [:]
  ) throws -> [Int64] {
    let asked = try pipeline.acquire(by: PartitionClaim(owner: 1, seenEpoch: 0), since: earlier)
    offsets = try pipeline.open(
      knowing: LogAnswers(
        marks: asked.topics.map { marks[$0] },
        probes: asked.lastOffsets.map { _ in
          TopicProbe(firstOffset: firstOffset, endOffset: firstOffset, record: nil)
        }))
    return offsets
  }

  /// A batch of these events, read in this order.
  func batch(_ events: [(input: Int, event: Echo.Event)], valueCount: Int = 0) -> InputBatch<Echo.Event> {
    var batch = InputBatch<Echo.Event>(inputCount: 2)
    let value = [UInt8](repeating: 1, count: valueCount)
    for (input, event) in events {
      value.withUnsafeBytes { batch.raw.begin(key: nil, value: $0) }
      batch.append(
        InputRecord(
          input: input, offset: offsets[input], timestamp: 1, arrival: clock.now, sequence: .unnumbered, event: event,
          contentHash: 0, raw: batch.raw.finish()))
      offsets[input] += 1
    }
    return batch
  }

  /// The log has no records at the next offsets of an input.
  func skip(_ input: Int, offsets count: Int64) { offsets[input] += count }

  @discardableResult
  func process(_ events: [(input: Int, event: Echo.Event)], valueCount: Int = 0) throws -> BatchSummary {
    try pipeline.process(batch(events, valueCount: valueCount))
  }

  /// Time passes, and nothing arrives.
  func later(seconds: Int64) throws {
    clock.advance(byMilliseconds: seconds * 1_000)
    _ = try pipeline.tick()
  }
}
