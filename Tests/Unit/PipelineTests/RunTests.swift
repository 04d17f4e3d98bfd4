import AdCore
import AdEvents
import Records
import TestValues
import Testing

@testable import Pipeline

@Suite("Runs of sequences in one record")
struct RunRecordTests {
  /// A partition that has consumed the sequences up to this one.
  private func partition(consumed: Int64 = 0) throws -> EchoPartition {
    let partition = EchoPartition()
    partition.store.position.inputs[Echo.numbered].consumedSequence = consumed
    try partition.open()
    return partition
  }

  /// A batch of runs, a record each: what their events are, from a sequence on.
  private func batch(_ runs: [(first: Int64, events: [Echo.Event])]) -> InputBatch<Echo.Event> {
    var batch = InputBatch<Echo.Event>(inputCount: 2)
    for (offset, run) in runs.enumerated() {
      let record = UndecodedRecord(
        input: Echo.numbered, arrival: .sample,
        identity: RecordIdentity(offset: Int64(offset), timestamp: 1, contentHash: UInt64(offset)),
        raw: batch.raw.finish())
      for (index, event) in run.events.enumerated() {
        batch.append(
          InputRecord(record, sequence: .number(run.first + Int64(index)), event: event),
          endsRecord: index == run.events.count - 1)
      }
    }
    return batch
  }

  private func lines(_ texts: String...) -> [Echo.Event] { texts.map { .line($0) } }

  @Test("A run that was seen in part, cut otherwise or not, is taken from the gate's position on")
  func cutAtGate() throws {
    let partition = try partition(consumed: 2)
    let summary = try partition.pipeline.process(
      batch([
        (1, lines("1", "2", "3", "4")), (2, lines("2", "3")), (4, lines("4", "5")), (6, lines("6")),
        (8, lines("8", "9")), (5, lines("5", "6", "7", "8")),
      ]))
    #expect(partition.store.lines == ["3", "4", "5", "6", "7", "8"])
    #expect(summary.outcomes[Int(Outcome.accepted.rawValue)] == 6)
    let committed = try #require(partition.store.batches.last)
    // One outcome for each record: taken, known, taken, taken, ahead, taken.
    #expect(committed.outcomes == [1, 2, 1, 1, 5, 1])
    #expect(committed.inputs[Echo.numbered].position.nextOffset == 6)
    #expect(committed.inputs[Echo.numbered].position.consumedSequence == 8)
  }

  @Test("The record stays until its last event is taken: bisected, its parts are told by their sequences")
  func bisected() throws {
    let partition = try partition()
    let whole = batch([(1, lines("1", "2") + [.refused] + lines("4", "5")), (6, lines("6"))])
    let summary = try partition.pipeline.process(whole)
    #expect(summary.bisections > 0)
    #expect(partition.store.lines == ["1", "2", "4", "5", "6"])
    let refused = partition.store.batches.flatMap(\.rejections)
    #expect(refused.map(\.offset) == [0] && refused.map(\.reason) == [RejectionReason.refusedByDatabase.rawValue])
    var next: Int64 = 0
    var outcomes: [UInt8] = []
    var consumed: Int64 = 0
    for committed in partition.store.batches {
      let input = committed.inputs[Echo.numbered]
      #expect(input.firstOffset == next && input.position.consumedSequence > consumed)
      #expect(committed.outcomes.count == Int(input.position.nextOffset - input.firstOffset))
      (next, consumed) = (input.position.nextOffset, input.position.consumedSequence)
      outcomes += committed.outcomes
      guard next == 0 else { continue }
      // Whoever takes over from here reads the record again, and takes the rest of it.
      let successor = EchoPartition()
      successor.store.position.inputs[Echo.numbered] = input.position
      try successor.open()
      _ = try successor.pipeline.process(whole)
      #expect(successor.store.lines == ["1", "2", "4", "5", "6"].filter { (Int64($0) ?? 0) > consumed })
    }
    #expect(next == 2 && consumed == 6 && outcomes.count == 2)
  }

  @Test("A run's delivery confirms all of it, and it is published again from any of its sequences")
  func publishing() throws {
    let partition = try partition()
    let message = NumberedMessage(output: 0, sequences: 3...7, message: Echo.message("3-7"))
    partition.pipeline.cursors = [PublicationCursor(OutputPosition(nextSequence: 8, confirmedSequence: 2))]
    partition.pipeline.publish([message])
    #expect(partition.writer.texts == ["3-7"])
    partition.pipeline.delivered(try #require(partition.writer.sent[0].receipt))
    #expect(partition.pipeline.cursors[0].delivered == 7)
    partition.pipeline.cursors[0].rewind(to: 5)
    #expect(partition.pipeline.cursors[0].delivered == 4)
    partition.pipeline.publish([message])
    #expect(partition.writer.texts == ["3-7"], "rows are read from 5 on; what is in memory begins before it")
  }

  @Test("A tracker's events become runs: as long as the limits allow, and no sequence in between is missing")
  func making() {
    let maker = RunMaker<AcceptedImpression>(topic: Topic.acceptedImpressions.name, source: "/test")
    func messages(_ sequences: [Int64]) -> [ClosedRange<Int64>] {
      maker.messages(
        sequences.map {
          let impression = AcceptedImpression(
            terms: .sample(serve: UInt64($0)), eventTime: .sample, arrival: .sample)
          return (sequence: $0, content: impression)
        }, output: 0
      ).map { $0.firstSequence...$0.sequence }
    }
    #expect(messages([]).isEmpty)
    #expect(messages([4]) == [4...4])
    #expect(messages([4, 5, 6, 9, 10, 12]) == [4...6, 9...10, 12...12])
    #expect(messages(Array(1...2_500)) == [1...1_000, 1_001...2_000, 2_001...2_500])
  }
}

@Suite("Records under the network's keys")
struct RecordInputTests {
  /// What an input of billing's would be.
  private struct Listener: PipelineService {
    typealias Event = Echo.Event
    typealias Decider = ListenerDecider
    typealias Query = Never
    typealias Knowledge = Never
    typealias Effects = Echo.Effects
    typealias Decoder = EchoDecoder

    static let name = "listener"
    let inputs = [
      InputDeclaration(topic: Topic.usage.name, isSequenced: true),
      InputDeclaration(topic: Topic.clicks.name, isSequenced: false),
    ]
    let outputs: [String] = []
    let publishesWatermarks = false
    var ring = KeyRing.sample

    static func count(_ effects: Echo.Effects, into counts: inout [String: Int64]) {}
    func makeDecoder() -> EchoDecoder { EchoDecoder() }
    func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage? { nil }
  }

  private struct ListenerDecider: PartitionDecider {
    typealias Service = Listener
    mutating func decide(
      _ records: [InputRecord<Echo.Event>], knowing knowledge: Never?, context: BatchContext
    ) -> BatchDecision<Echo.Effects> { BatchDecision(outcomes: [], effects: Echo.Effects()) }
  }

  private func event(
    _ message: OutgoingMessage, input: Int = 0, partition: Int32 = 3, ring: KeyRing = .sample
  ) throws -> Echo.Event {
    var records = try RecordInput(Listener(ring: ring))
    var batch = InputBatch<Echo.Event>(inputCount: 2)
    let value = message.value ?? []
    value.withUnsafeBytes { value in
      records.begin(input: input, key: nil, value: value, into: &batch)
      for header in message.headers { header.withUnsafeBytes { records.header(name: $0, value: $1, into: &batch) } }
      records.finish(
        partition: partition, arrival: .sample, identity: RecordIdentity(offset: 0, timestamp: 0, contentHash: 0),
        key: nil, value: value, into: &batch)
    }
    try #require(batch.records.count == 1 && batch.records[0].sequence == .unnumbered)
    return batch.records[0].event
  }

  private func message(_ topic: Topic, _ ring: KeyRing = .sample) throws -> OutgoingMessage {
    OutgoingMessage(topic: topic.name, partition: 3, key: nil, value: [1, 2, 3], headers: [])
      .authenticated(by: try MessageMAC(ring: ring), now: .sample)
  }

  private func reason(_ event: Echo.Event) -> RejectionReason? {
    guard case .rejected(let rejection) = event else { return nil }
    return rejection.reason
  }

  @Test("What services alone may write is decoded only with its MAC; without, it is rejected and has no number")
  func between() throws {
    let genuine = try message(.usage)
    #expect(try event(genuine) == .line(""))
    var bare = genuine
    bare.headers = []
    #expect(reason(try event(bare)) == .macWrong)
    #expect(reason(try event(genuine, partition: 2)) == .macWrong)
    var altered = genuine
    altered.value = [1, 2, 4]
    #expect(reason(try event(altered)) == .macWrong)
    var elsewhere = try message(.budgets)
    elsewhere.topic = Topic.usage.name
    #expect(reason(try event(elsewhere)) == .macWrong)
    #expect(reason(try event(genuine, ring: .sample(2))) == .macKeyUnknown)
    #expect(try event(genuine, ring: .sample(1, 2)) == .line(""))
  }

  @Test("What clients write has none, and needs none")
  func ofClients() throws {
    let message = try message(.clicks)
    #expect(message.headers.isEmpty)
    #expect(try event(message, input: 1) == .line(""))
  }
}
