import AdCore
import AdSelectionCore
import Pipeline

/// A service's own tables in memory: the twin of its half of the database, small and honest.
protocol SimulatedTables<Service> where Service.CountSums: Equatable {
  associatedtype Service: PipelineService

  var counts: SimulatedCounts<Service.CountKey, Service.CountSums> { get set }

  func load(_ partition: Int32, now: Timestamp, for context: InstanceContext) throws(PipelineError) -> Service.Decider
  func lookUp(_ query: Service.Query, partition: Int32) -> Service.Knowledge
  /// What the constraints say against the batch; nothing has been changed then.
  func violation(of batch: CommitBatch<Service>) throws(PipelineError) -> RowRefusal?
  mutating func apply(_ batch: CommitBatch<Service>, for context: InstanceContext) -> CommitResult
  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage]
  /// The messages that the batch will make.
  func messages(of batch: CommitBatch<Service>) -> [NumberedMessage]
}

/// What the bookkeeping of every service can be asked, whatever the service.
protocol ServiceBooks: AnyObject {
  var name: String { get }
  var inputTopics: [String] { get }
  var outputTopics: [String] { get }
  var partitions: [Int32: PartitionRow] { get }
  /// Broken rules that the tables themselves saw.
  var anomalies: [String] { get }
  /// Why a partition was not opened last, when nothing should go wrong any more.
  var lastError: String? { get }
  /// A person accepts that the log was replaced: it is read on from there.
  func acceptLog(_ partition: Int32, input: Int, incarnation: Int, offset: Int64, now: Int64)
  /// All rows, as they are now.
  ///
  /// - Returns: what brings them back.
  func backup() -> () -> Void
  /// The partition's row, made where there is none.
  func row(_ partition: Int32) -> PartitionRow
  /// Whoever owns the partition is fenced, and its outputs go on above lost sequences.
  func begin(_ timeline: TimelineID, _ partition: Int32, nextSequence: Int64?, now: Timestamp)
}

/// One partition's rows of bookkeeping.
struct PartitionRow {
  var epoch: Int64 = 0
  /// The number of the instance that took it last.
  var owner: Int32?
  /// Which history of commits the row was left in.
  var timeline: TimelineID?
  var batchNumber: Int64 = 0
  var watermark = Timestamp(milliseconds: 0)
  var outboxID: Int64 = 0
  var inputs: [InputPosition]
  var outputs: [OutputPosition]
  /// Per input: how often a replaced log was accepted.
  var incarnations: [Int]
  var outbox: [OutboxEntry] = []
  var batches: [BatchRow] = []
  var rejected: [(batch: Int64, row: RejectedRecord, incarnation: Int)] = []
  var gapRequests: [GapRequestRow] = []
  /// By consumer and output: the highest row answered.
  var answered: [String: [Int64]] = [:]

  /// The twin of `pipeline.next_epoch`: none is given twice, not by a database that went back either.
  mutating func raiseEpoch(at now: Int64) { epoch = max(epoch + 1, now) }
}

struct GapRequestRow {
  var number: Int64
  var input: Int
  var sequence: Int64
}

/// One row for each batch.
struct BatchRow {
  var number: Int64
  var committedAt: Timestamp
  /// The partition's watermark before the batch: no record counts as having arrived earlier.
  var watermarkBefore: Timestamp
  var watermark: Timestamp
  var inputs: [InputCommit]
  var incarnations: [Int]
  var outputs: [OutputCommit]
  var outcomes: [UInt8]
  var lost: [LostRange]
  /// How many partitions the topics had for whoever decided.
  var partitionCount: Int32
  /// Whether the catalogue was complete for whoever decided.
  var freshness: CatalogFreshness.State?
  /// What that process had heard of the console.
  var heard: HeardBeats?

  /// Per input: the last sequence that earlier batches consumed, or that was lost behind it.
  var consumedBefore: [Int64]
  /// What the database knew of its own history.
  var timelines: TimelineTables
  /// Nothing was decided: a person accepted that commits were lost.
  var beginsTimeline = false

  /// Whether it had a record, be it a part of a run of which nothing is new.
  var hasRecords = false

  /// What timers made due, and nothing else: no record, and no offsets without one.
  var isOfTimer: Bool { outcomes.isEmpty && !hasRecords && lost.isEmpty && !beginsTimeline }
}

/// The tables of one service, all partitions.
final class Books<Tables: SimulatedTables>: ServiceBooks {
  let name: String
  let inputTopics: [String]
  let outputTopics: [String]
  var partitions: [Int32: PartitionRow] = [:]
  var tables: Tables
  /// Services that may say what they miss.
  var consumers: [any ServiceBooks] = []
  /// Broken rules that the tables themselves saw.
  var anomalies: [String] = []
  var lastError: String?
  /// Instances that ever took part.
  var memberCount: Int32 = 0
  private var gapRequestNumber: Int64 = 0

  init(service: Tables.Service, tables: Tables) {
    name = Tables.Service.name
    inputTopics = service.inputs.map(\.topic)
    outputTopics = service.outputs
    self.tables = tables
  }

  func row(_ partition: Int32) -> PartitionRow {
    partitions[partition]
      ?? PartitionRow(
        inputs: inputTopics.map { _ in .start }, outputs: outputTopics.map { _ in .start },
        incarnations: inputTopics.map { _ in 0 })
  }

  func backup() -> () -> Void {
    let (partitions, tables, number) = (partitions, tables, gapRequestNumber)
    return { [unowned self] in
      (self.partitions, self.tables, gapRequestNumber) = (partitions, tables, number)
    }
  }

  func begin(_ timeline: TimelineID, _ partition: Int32, nextSequence: Int64?, now: Timestamp) {
    var row = row(partition)
    row.raiseEpoch(at: now.milliseconds)
    row.epoch += 1_000_000
    row.batchNumber += 1
    row.timeline = timeline
    row.batches.append(
      BatchRow(
        number: row.batchNumber, committedAt: now, watermarkBefore: row.watermark, watermark: row.watermark,
        inputs: row.inputs.map { InputCommit(firstOffset: $0.nextOffset, position: $0) },
        incarnations: row.incarnations,
        outputs: row.outputs.map { OutputCommit(firstSequence: $0.nextSequence, position: $0) }, outcomes: [], lost: [],
        partitionCount: 0, consumedBefore: row.inputs.map(\.consumedSequence), timelines: TimelineTables(),
        beginsTimeline: true))
    if let nextSequence { row.outputs[0].nextSequence = nextSequence }
    partitions[partition] = row
  }

  func acceptLog(_ partition: Int32, input: Int, incarnation: Int, offset: Int64, now: Int64) {
    var row = row(partition)
    row.inputs[input].nextOffset = offset
    row.inputs[input].last = nil
    row.incarnations[input] = incarnation
    row.raiseEpoch(at: now)
    partitions[partition] = row
  }

  /// A position that rests on no record, or on one that retention removed, belongs to whatever log there is, if that
  /// reaches so far; and so does one that rests on a record which was there before the log was cut.
  func begin(_ partition: Int32, input: Int, in log: PartitionLog) {
    guard var row = partitions[partition], row.inputs[input].nextOffset <= log.endOffset else { return }
    let last = row.inputs[input].last?.offset ?? -1
    guard last < log.firstOffset || last < log.keptUntil[row.incarnations[input]] ?? 0 else { return }
    row.incarnations[input] = log.incarnation
    partitions[partition] = row
  }

  func add(_ gapRequests: [GapRequest], to row: inout PartitionRow) {
    for request in gapRequests {
      gapRequestNumber += 1
      row.gapRequests.append(
        GapRequestRow(number: gapRequestNumber, input: request.input, sequence: request.sequence))
    }
  }
}
