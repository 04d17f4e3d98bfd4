import AdCore
import AdEvents
import Pipeline

/// The simplest consumer of accepted events there can be: it writes down each one that it takes.
struct Recorder: PipelineService {
  typealias Event = Taken
  typealias Decider = RecorderDecider
  typealias Query = Nothing
  typealias Knowledge = Nothing
  typealias Effects = [Entry]
  typealias Decoder = RecorderDecoder

  /// It asks nothing.
  struct Nothing: Sendable {}

  enum Taken: Sendable {
    case impression(sequence: Int64, AcceptedImpression)
    case click(sequence: Int64, AcceptedClick)
    case watermark
    case rejected(Rejection)
  }

  struct Entry: Sendable {
    var sequence: Int64
    var impression: AcceptedImpression?
    var click: AcceptedClick?
  }

  static let name = "recorder"
  let inputs = [
    InputDeclaration(topic: Topic.acceptedImpressions.name, isSequenced: true),
    InputDeclaration(topic: Topic.acceptedClicks.name, isSequenced: true),
  ]
  let outputs: [String] = []
  let publishesWatermarks = false

  func makeDecoder() -> RecorderDecoder { RecorderDecoder() }

  func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? { nil }
}

struct RecorderDecoder: RecordDecoder {
  private var headers = RecordHeaders()

  mutating func begin() { headers = RecordHeaders() }

  mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    headers.add(name: name, value: value)
  }

  mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: Recorder.Taken, mark: SequenceMark) {
    if input == 1 {
      return switch Sequenced<AcceptedClick>.decode(value: value, headers: headers) {
      case .success(.record(let sequence, let click)): (.click(sequence: sequence, click), .number(sequence))
      case .success(.watermark(let watermark)): (.watermark, .watermark(watermark))
      case .failure(let rejection): (.rejected(rejection), .unnumbered)
      }
    }
    return switch Sequenced<AcceptedImpression>.decode(value: value, headers: headers) {
    case .success(.record(let sequence, let impression)):
      (.impression(sequence: sequence, impression), .number(sequence))
    case .success(.watermark(let watermark)): (.watermark, .watermark(watermark))
    case .failure(let rejection): (.rejected(rejection), .unnumbered)
    }
  }
}

struct RecorderDecider: PartitionDecider {
  typealias Service = Recorder

  mutating func decide(
    _ records: [InputRecord<Recorder.Taken>], knowing knowledge: Recorder.Nothing?, context: BatchContext
  ) -> Decision<[Recorder.Entry]> {
    var decision = Decision<[Recorder.Entry]>(
      outcomes: Array(repeating: .accepted, count: records.count), effects: [])
    for (index, record) in records.enumerated() {
      switch record.event {
      case .impression(let sequence, let impression):
        decision.effects.append(.init(sequence: sequence, impression: impression))
      case .click(let sequence, let click):
        decision.effects.append(.init(sequence: sequence, click: click))
      case .watermark: decision.outcomes[index] = .noted
      case .rejected(let rejection): decision.reject(index, rejection.reason, rejection.detail)
      }
    }
    return decision
  }

  mutating func revert() -> Bool { true }
}

/// What the recorder wrote, in the order in which it was committed.
struct RecorderTables: SimulatedTables {
  typealias Service = Recorder

  private(set) var entries: [Int32: [Recorder.Entry]] = [:]

  func load(_ partition: Int32, now: Timestamp) -> RecorderDecider { RecorderDecider() }
  func look(up query: Recorder.Nothing, partition: Int32) -> Recorder.Nothing { query }
  func violation(of batch: CommitBatch<Recorder>) -> PipelineError? { nil }

  mutating func apply(_ batch: CommitBatch<Recorder>) -> CommitResult {
    entries[batch.partition, default: []] += batch.effects
    return CommitResult()
  }

  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage] { [] }
  func messages(of batch: CommitBatch<Recorder>) -> [NumberedMessage] { [] }
}
