import AdCore
import AdEvents
import Pipeline
import TestValues

/// I4: a service run again over the records of its batches, in the order in which they were committed, on empty tables,
/// with a crash between any two of them: each batch must decide the same.
final class Replay<Tables: SimulatedTables>: PipelineStore, TopicWriter {
  typealias Service = Tables.Service

  private let service: Service
  private let recorded: Books<Tables>
  private let context: InstanceContext
  private(set) var tables: Tables
  /// The batch that is decided again, and what came of it.
  private var batch: BatchRow?
  private var committed: CommitBatch<Service>?
  private var taken: [Int32: [InputPosition]] = [:]

  init(_ service: Service, _ recorded: Books<Tables>, empty: Tables, in world: World) {
    self.service = service
    self.recorded = recorded
    tables = empty
    context = InstanceContext(
      world: world, clock: SkewedClock(time: world.time, skewMilliseconds: 0), catalog: nil)
  }

  private var world: World { context.world }

  /// All batches of a service whose partitions share nothing.
  func run() {
    for (partition, row) in recorded.partitions.sorted(by: { $0.key < $1.key }) {
      for batch in row.batches where !batch.beginsTimeline { run(batch, of: partition) }
    }
  }

  func change(_ body: (inout Tables) -> Void) { body(&tables) }

  /// Decides a batch again from what the log and the batch's row hold.
  func run(_ batch: BatchRow, of partition: Int32) {
    self.batch = batch
    context.timelinesThen = batch.timelines
    committed = nil
    let pipeline = PartitionPipeline(
      service: service, partition: partition, partitionCount: batch.partitionCount, store: self, writer: self,
      clock: MovingClock(batch.committedAt))
    do throws(PipelineError) {
      let asked = try pipeline.acquire(by: PartitionClaim(owner: 1, seenEpoch: 0))
      let probes = asked.lastOffsets.indices.map { input in
        let lost = batch.lost.first { $0.input == input }
        let first = lost?.offsets.upperBound ?? batch.inputs[input].firstOffset
        return TopicProbe(firstOffset: first, endOffset: .max, record: nil)
      }
      _ = try pipeline.open(knowing: LogAnswers(marks: asked.topics.map { _ in nil }, probes: probes))
      if batch.isOfTimer {
        _ = try pipeline.tick(timerBatchesMaximum: 1)
      } else if batch.lost.isEmpty {
        _ = try pipeline.process(try records(of: batch, partition))
      }
    } catch {
      return world.fail("I4: \(recorded.name)[\(partition)]: batch \(batch.number) cannot be repeated: \(error)")
    }
    // When a timer is due depends on when its state was loaded; what it did else, the tables show at the end.
    if batch.isOfTimer, committed == nil { return }
    guard let committed, committed.number == batch.number, due(committed.outcomes) == due(batch.outcomes),
      committed.inputs.map(\.position.consumedSequence) == batch.inputs.map(\.position.consumedSequence)
    else {
      return world.fail(
        "I4: \(recorded.name)[\(partition)]: batch \(batch.number) has outcomes \(batch.outcomes), repeated "
          + "\(committed?.outcomes ?? [])")
    }
  }

  /// How often something is sent on is known as far as a partition's owner remembers: it changes no row.
  private func due(_ outcomes: [UInt8]) -> [UInt8] { outcomes.map { $0 == 87 ? 3 : $0 } }

  private func records(of batch: BatchRow, _ partition: Int32) throws(PipelineError) -> InputBatch<Service.Event> {
    var again = InputBatch<Service.Event>(inputCount: service.inputs.count)
    var reading: RecordInput<Service>
    do { reading = try RecordInput(service) } catch { throw .invariantBroken("\(error)") }
    for (input, declaration) in service.inputs.enumerated() {
      let commit = batch.inputs[input]
      let next = commit.position.nextOffset
      let logID = LogID(topic: declaration.topic, partition: partition)
      let log = Auditor.records(world.log[logID], incarnation: batch.incarnations[input])
      var part = Part(input: input, after: batch.consumedBefore[input], upTo: commit.position.consumedSequence)
      if commit.isMoved {
        for record in log where (commit.firstOffset..<next).contains(record.offset) {
          take(record, part, isWhole: true, with: &reading, into: &again)
        }
        again.nextOffsets[input] = next
      }
      // What whole records have told, another copy in the next one has not; but for what lay behind a gap. Lost sequences
      // are none.
      part.after = again.records.reduce(part.after) { last, event in
        let next = batch.timelines.next(last, in: logID)
        return event.input == input && event.sequence == .number(next) ? next : last
      }
      if declaration.isSequenced, let record = log.first(where: { $0.offset == next }) {
        take(record, part, isWhole: false, with: &reading, into: &again)
      }
    }
    return again
  }

  /// Which sequences of an input a batch consumed.
  private struct Part {
    var input: Int
    var after: Int64
    var upTo: Int64
  }

  /// What a batch had of a record: where it was bisected within a run, its parts are in different batches.
  ///
  /// - Parameter isWhole: the batch had the record's end.
  private func take(
    _ record: LogRecord, _ part: Part, isWhole: Bool, with reading: inout RecordInput<Service>,
    into batch: inout InputBatch<Service.Event>
  ) {
    var alone = InputBatch<Service.Event>(inputCount: service.inputs.count)
    reading.take(record, input: part.input, into: &alone)
    let events = alone.records.filter { event in
      guard case .number(let number) = event.sequence else { return false }
      return number > part.after && (isWhole || number <= part.upTo)
    }
    guard !isWhole || !events.isEmpty && events.count < alone.records.count else {
      reading.take(record, input: part.input, into: &batch)
      return
    }
    for (index, event) in events.enumerated() {
      // Nobody asks for the bytes of what has a number.
      var event = event
      event.raw = RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0)
      batch.append(event, endsRecord: isWhole && index == events.count - 1)
    }
    if !isWhole, !events.isEmpty { batch.nextOffsets[part.input] = record.offset }
  }

  // MARK: What the pipeline is given

  func send(_ message: OutgoingMessage, receipt: Receipt?) throws(PipelineError) {}

  func acquire(_ partition: Int32, by claim: PartitionClaim) throws(PipelineError) -> PartitionPosition {
    guard let batch else { throw .invariantBroken("there is no batch") }
    var inputs = taken[partition] ?? service.inputs.map { _ in .start }
    for input in inputs.indices {
      let lost = batch.lost.first { $0.input == input }
      inputs[input].nextOffset = lost?.offsets.lowerBound ?? batch.inputs[input].firstOffset
      inputs[input].last = lost.map { RecordIdentity(offset: $0.offsets.lowerBound - 1, timestamp: 0, contentHash: 0) }
    }
    return PartitionPosition(
      epoch: 1, batchNumber: batch.number - 1, watermark: batch.watermarkBefore, inputs: inputs,
      outputs: batch.outputs.map {
        OutputPosition(nextSequence: $0.firstSequence, confirmedSequence: $0.firstSequence - 1)
      },
      outboxID: 0,
      history: CommitHistory(
        timelines: batch.timelines.ids,
        lostSequences: service.inputs.map { batch.timelines.lost[LogID(topic: $0.topic, partition: partition)] ?? [] },
        ends: service.inputs.map { batch.timelines.ends[LogID(topic: $0.topic, partition: partition)] ?? [:] }))
  }

  func load(_ partition: Int32, now: Timestamp) throws(PipelineError) -> Service.Decider {
    try tables.load(partition, now: now, for: context)
  }

  func lookUp(_ query: Service.Query, partition: Int32) throws(PipelineError) -> Service.Knowledge {
    tables.lookUp(query, partition: partition)
  }

  func commit(_ batches: [CommitBatch<Service>]) throws(PipelineError) -> Result<[CommitResult], RowRefusal> {
    // Each is repeated by itself.
    let batch = batches[0]
    if let violation = try tables.violation(of: batch) { return .failure(violation) }
    committed = batch
    taken[batch.partition] = batch.inputs.map(\.position)
    return .success([tables.apply(batch, for: context)])
  }

  /// Counts are no part of what is repeated: their audit compares them with the rows.
  func flush(_ counts: CountFlush<Service.CountKey, Service.CountSums>) {}

  func save(_ checkpoint: Checkpoint) throws(PipelineError) {}

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int
  ) throws(PipelineError) -> [NumberedMessage] { [] }

  func outbox(_ partition: Int32, after id: Int64, limit: Int) throws(PipelineError) -> [OutboxEntry] { [] }

  func gapRequests(_ partition: Int32) throws(PipelineError) -> [ReceivedGapRequest] { [] }

  /// What was consumed was known to have been committed.
  func writers(_ partition: Int32) throws(PipelineError) -> [Int: WriterStanding] {
    Dictionary(uniqueKeysWithValues: service.inputs.indices.map { ($0, WriterStanding(sequence: .max, batch: .max)) })
  }

  func note(finding: String, partition: Int32, epoch: Int64) throws(PipelineError) {}
}

extension InputCommit {
  var isMoved: Bool { position.nextOffset != firstOffset }
}
