package import AdCore
import AdEvents
package import Pipeline
package import Postgres
import Records
package import TestValues

@testable package import PipelineHost

/// One partition of a service over a real database, its logs in memory, fed by hand; it keeps what it publishes. Used by
/// one thread.
package final class StoredPartition<Tables: ServiceTables> {
  package typealias Service = Tables.Service
  /// A record that comes in, as its input's decoder would give it.
  package typealias Incoming = (input: Int, event: Service.Event, sequence: RecordSequence)

  /// What does not change when somebody else takes the partition over.
  package struct Plan: Sendable {
    package var number: Int32
    package var partitionCount: Int32
    package var service: Service
    package var tables: Tables
    package var database: PostgresConfiguration
    package var clock: any TimeSource

    package init(
      number: Int32, of partitionCount: Int32 = 12, service: Service, tables: Tables, database: PostgresConfiguration,
      clock: any TimeSource
    ) {
      self.number = number
      self.partitionCount = partitionCount
      self.service = service
      self.tables = tables
      self.database = database
      self.clock = clock
    }
  }

  package private(set) var plan: Plan
  package let published = Publications()
  private var pipeline: PartitionPipeline<PostgresPipelineStore<Tables>, Publications>
  /// That of a worker with several partitions; nil: each owner has its own.
  private let store: PostgresPipelineStore<Tables>?
  private var ownerStore: PostgresPipelineStore<Tables>
  /// Counts that were handed over and are not written.
  private let flushes: Flushes
  /// Writes them, as the thread of a service does.
  private let counts: CountStore<Tables>

  /// What a partition hands over, in its order.
  package final class Flushes {
    package var waiting: [CountStore<Tables>.Flush] = []
  }
  /// By input: the offset of the next record.
  package private(set) var offsets: [Int64]
  /// By input: when each record was written, by its offset.
  private var times: [[Int64: Timestamp]]
  /// By input: the last sequence that was given out.
  private var sequences: [Int64]

  /// Opens the partition, whoever had it before.
  ///
  /// - Parameter store: of a worker with several partitions.
  package init(_ plan: Plan, in store: PostgresPipelineStore<Tables>? = nil) throws {
    self.plan = plan
    self.store = store
    flushes = Flushes()
    counts = CountStore(tables: plan.tables, configuration: Self.database(plan))
    ownerStore = store ?? Self.makeStore(plan, flushes)
    pipeline = Self.makePipeline(plan, published, ownerStore)
    offsets = plan.service.inputs.map { _ in 0 }
    sequences = offsets
    times = offsets.map { _ in [:] }
    try open()
  }

  /// The plan's, under the service's own login: a right that is missing is seen.
  private static func database(_ plan: Plan) -> PostgresConfiguration {
    plan.database.login("handbill-\(Service.name)")
  }

  /// The store of one owner.
  package static func makeStore(_ plan: Plan, _ flushes: Flushes = Flushes()) -> PostgresPipelineStore<Tables> {
    PostgresPipelineStore(
      tables: plan.tables, service: plan.service, configuration: database(plan),
      takeCounts: { flushes.waiting.append($0) })
  }

  private static func makePipeline(
    _ plan: Plan, _ published: Publications, _ store: PostgresPipelineStore<Tables>
  ) -> PartitionPipeline<PostgresPipelineStore<Tables>, Publications> {
    PartitionPipeline(
      service: plan.service, partition: plan.number, partitionCount: plan.partitionCount,
      store: store, writer: published, clock: plan.clock)
  }

  /// What the last record of each topic tells whoever opens the partition.
  package var lastMarks: [String: TimelineMark] = [:]
  /// What the owner knows to have committed before.
  package var earlier: CommittedBatch?
  /// What was committed by now.
  package var committed: CommittedBatch? { pipeline.committed }

  /// The logs hold what was given, and what the position says was read before, written now; what lies behind it is to be
  /// given again.
  private func open(seenEpoch: Int64 = 0) throws {
    let now = plan.clock.now
    let asked = try pipeline.acquire(by: PartitionClaim(owner: 1, seenEpoch: seenEpoch), since: earlier)
    let probes = asked.lastOffsets.enumerated().map { input, lastOffset in
      let last = lastOffset.map { Self.identity($0, writtenAt: times[input][$0] ?? now) }
      return TopicProbe(firstOffset: 0, endOffset: max(offsets[input], last.map { $0.offset + 1 } ?? 0), record: last)
    }
    offsets = try pipeline.open(knowing: LogAnswers(marks: asked.topics.map { lastMarks[$0] }, probes: probes))
  }

  /// Which record stands at an offset, in the log of every owner.
  private static func identity(_ offset: Int64, writtenAt time: Timestamp) -> RecordIdentity {
    RecordIdentity(offset: offset, timestamp: time.milliseconds, contentHash: UInt64(offset))
  }

  /// Another owner takes the partition over, and publishes again what nobody said was delivered.
  ///
  /// - Parameter partitionCount: of how many, from then on; nil for as many as before.
  package func takeOver(partitionCount: Int32? = nil) throws {
    flushes.waiting = []
    if let partitionCount { plan.partitionCount = partitionCount }
    ownerStore = store ?? Self.makeStore(plan, flushes)
    pipeline = Self.makePipeline(plan, published, ownerStore)
    try open()
  }

  /// The server's statistics have all that its owner read.
  package func reportReads() throws {
    try ownerStore.perform([]) { connection throws(PostgresError) in
      _ = try connection.query("SELECT pg_stat_force_next_flush()")
    }
  }

  /// Everything that was published so far was delivered.
  package func confirm() {
    for receipt in published.takeReceipts() { pipeline.delivered(receipt) }
  }

  /// The same owner opens the partition again after a failure.
  ///
  /// - Parameter seenEpoch: the epoch with which it was seen to be free; without it only its owner may.
  package func reopen(seenEpoch: Int64 = 0) throws { try open(seenEpoch: seenEpoch) }

  /// The sequence of the next record of an input with sequences.
  package func nextSequence(input: Int) -> RecordSequence {
    sequences[input] += 1
    return .number(sequences[input])
  }

  /// The one that says that everything of an input before `time` has been given.
  package func watermark(input: Int, time: Timestamp) -> RecordSequence {
    .watermark(Watermark(time: time, sequence: sequences[input]))
  }

  /// Decides and commits one batch.
  ///
  /// - Parameter arrival: when its records came; nil for now.
  @discardableResult
  package func process(_ records: [Incoming], arrival: Timestamp? = nil) throws -> BatchSummary {
    try pipeline.process(batch(records, arrival: arrival))
  }

  /// Decides a batch of each of several partitions of one store, and commits them together.
  package static func process(
    _ batches: [(partition: StoredPartition, records: [Incoming])], in store: PostgresPipelineStore<Tables>
  ) -> [Result<BatchSummary, PipelineError>] {
    PartitionPipeline.process(batches.map { ($0.partition.pipeline, $0.partition.batch($0.records)) }, in: store)
  }

  private func batch(_ records: [Incoming], arrival: Timestamp? = nil) -> InputBatch<Service.Event> {
    let arrival = arrival ?? plan.clock.now
    var batch = InputBatch<Service.Event>(inputCount: offsets.count)
    for record in records {
      let identity = Self.identity(offsets[record.input], writtenAt: arrival)
      times[record.input][identity.offset] = arrival
      batch.raw.begin(key: nil, value: nil)
      batch.append(
        InputRecord(
          input: record.input, offset: identity.offset, timestamp: identity.timestamp, arrival: arrival,
          sequence: record.sequence, event: record.event, contentHash: identity.contentHash, raw: batch.raw.finish()))
      offsets[record.input] += 1
    }
    return batch
  }

  /// Decides a batch of what another service published: its MACs made and checked, as on its way through Kafka.
  package func take(_ messages: [OutgoingMessage], input: Int) throws {
    guard !messages.isEmpty else { return }
    let mac = try MessageMAC(ring: plan.service.ring)
    var records = try RecordInput(plan.service)
    var batch = InputBatch<Service.Event>(inputCount: offsets.count)
    let now = plan.clock.now
    for message in messages.map({ $0.authenticated(by: mac, now: now) }) {
      let identity = Self.identity(offsets[input], writtenAt: now)
      times[input][identity.offset] = now
      let key = message.key ?? []
      let value = message.value ?? []
      key.withUnsafeBytes { keyBytes in
        value.withUnsafeBytes { value in
          let key = message.key == nil ? nil : keyBytes
          records.begin(input: input, key: key, value: value, into: &batch)
          for header in message.headers {
            header.withUnsafeBytes { records.header(name: $0, value: $1, into: &batch) }
          }
          records.finish(
            partition: message.partition, arrival: now, identity: identity, key: key, value: value, into: &batch)
        }
      }
      offsets[input] += 1
    }
    _ = try pipeline.process(batch)
  }

  /// Lets time do its work; what is counted by then is written.
  package func tick() throws {
    try writeCounts()
    _ = try pipeline.tick()
    try writeCounts()
  }

  /// Writes what was handed over, and tells the partition.
  package func writeCounts() throws {
    while let flush = flushes.waiting.first {
      let isWritten = try counts.write(flush)
      flushes.waiting.removeFirst()
      try pipeline.counted(
        CountReport(partition: flush.partition, epoch: flush.epoch, upTo: flush.upTo, isRefused: !isWritten))
    }
  }

  /// Hands over everything that is counted, as at the end of a process, and writes it.
  package func writeAllCounts() throws {
    try writeCounts()
    pipeline.flushLastCounts()
    try writeCounts()
  }

  /// What a person is told while `body` runs.
  package func alarms(_ body: () throws -> Void) throws -> [PipelineAlarm] {
    var alarms: [PipelineAlarm] = []
    pipeline.alarm = { alarms.append($0) }
    defer { pipeline.alarm = { _ in } }
    try body()
    return alarms
  }
}
