package import AdCore
internal import AdEvents

/// One partition of one service, from the moment that it is taken over until it is given up: the protocol "exactly once",
/// for every service.
///
/// open → (process | tick)* → given up. Each batch is committed in one database transaction, results and position in the
/// input together; what it publishes goes out after the commit, in the order of its sequences. Whatever fails in a way
/// that leaves doubt throws, and the partition is opened again: what the database then says is what happened.
///
/// Used by one thread. Everything outside is a port, so that the same code runs under a seeded simulation.
package final class PartitionPipeline<Store: PipelineStore, Writer: TopicWriter> {
  package typealias Service = Store.Service

  let service: Service
  package let partition: Int32
  let partitionCount: Int32
  let store: Store
  let writer: Writer
  let clock: any TimeSource

  var epoch: Int64 = 0
  var batchNumber: Int64 = 0
  /// That of the last batch at the last tick.
  var batchNumberAtTick: Int64 = 0
  var watermark = Timestamp(milliseconds: 0)
  var inputs: [InputPosition] = []
  var gates: [SequenceGate] = []
  var lastArrivals: [Timestamp?] = []
  /// Per input: when its end was last seen to be where we stand.
  var endsConfirmedAt: [Timestamp?] = []
  var cursors: [PublicationCursor] = []
  var outboxID: Int64 = 0
  var history = CommitHistory(timelines: [])
  /// By input: what its writer's rows knew when they were asked last.
  var writers: [Int: WriterStanding] = [:]
  /// What is committed of the outbox and not yet known to be delivered; nil before the partition is open.
  var outbox: OutboxState?
  var rejectionLimit = RejectionLimit()
  var decider: Service.Decider?
  var isWriterDown = false
  var timer = TimerState()
  /// Sequences found lost and not yet recorded as such.
  var lostSequences: [LostSequences] = []
  var counts = Counts(epoch: 0, after: 0, now: Timestamp(milliseconds: 0), keysMaximum: PipelineMemory.countKeysMaximum)
  /// What the partitions of the process may keep.
  package var memory = PipelineMemory()
  var countQuota: SharedBound.Quota?
  /// Told of what a person should know.
  package var alarm: (PipelineAlarm) -> Void = { _ in }

  package init(
    service: Service, partition: Int32, partitionCount: Int32, store: Store, writer: Writer, clock: any TimeSource
  ) {
    self.service = service
    self.partition = partition
    self.partitionCount = partitionCount
    self.store = store
    self.writer = writer
    self.clock = clock
  }

  /// Begins to take the partition over: fences the last owner.
  ///
  /// - Parameters:
  ///   - claim: by what right.
  ///   - earlier: what this process has committed in it before.
  /// - Returns: what the logs are to be asked from then on.
  /// - Throws: ``PipelineError/fenced`` when somebody else has taken it since the claim was made.
  package func acquire(
    by claim: PartitionClaim, since earlier: CommittedBatch? = nil
  ) throws(PipelineError) -> LogQuestions {
    let position = try store.acquire(partition, by: claim)
    epoch = position.epoch
    batchNumber = position.batchNumber
    batchNumberAtTick = batchNumber
    watermark = position.watermark
    inputs = position.inputs
    history = position.history
    writers = [:]
    gates = position.inputs.enumerated().map { input, position in
      let lost = history.lostSequences
      return SequenceGate(position, lost: lost.indices.contains(input) ? lost[input] : [])
    }
    lastArrivals = Array(repeating: nil, count: inputs.count)
    endsConfirmedAt = Array(repeating: nil, count: inputs.count)
    cursors = position.outputs.map(PublicationCursor.init)
    outboxID = max(position.outboxID, earlier?.outboxID ?? 0)
    outbox = OutboxState(quota: memory.outboxBytes.quota())
    isWriterDown = false
    timer = TimerState()
    lostSequences = []
    try checkHistory(since: earlier)
    return LogQuestions(topics: service.markedTopics, lastOffsets: inputs.map(\.last?.offset))
  }

  /// Takes it over: checks that each log is the one the position belongs to and that no commits were lost, loads the state, and
  /// publishes again what may not have been delivered.
  ///
  /// - Parameter answers: the logs', to what ``acquire(by:since:)`` asked.
  /// - Returns: the offset at which each input is to be read.
  package func open(knowing answers: LogAnswers) throws(PipelineError) -> [Int64] {
    try check(answers.marks)
    let lost = try check(answers.probes)
    decider = try store.load(partition, now: loadTime)
    beginCounting()
    if !lost.isEmpty { try commitLost(lost) }
    try continueOutbox()
    try publishBacklog()
    return inputs.map(\.nextOffset)
  }

  private func check(_ probes: [TopicProbe]) throws(PipelineError) -> [LostRange] {
    var lost: [LostRange] = []
    for (input, found) in probes.enumerated() {
      switch TopicIdentity.check(inputs[input], against: found) {
      case .same:
        break
      case .gap(let offsets):
        lost.append(LostRange(input: input, offsets: offsets, detail: "removed by retention before it was read"))
      case .replaced(let detail):
        throw .logReplaced(topic: service.inputs[input].topic, partition: partition, detail: detail)
      }
    }
    return lost
  }

  /// Everything that a delivery report said was delivered.
  package func delivered(_ receipt: Receipt) {
    switch receipt.content {
    case .numbered(let output, let sequence):
      cursors[output].delivered(sequence)
    case .outbox(let id):
      outbox?.deliver(id)
    }
  }

  /// The writer failed and was made again: what it may have lost goes out once more, in order.
  package func writerRebuilt() throws(PipelineError) {
    isWriterDown = false
    for output in cursors.indices { cursors[output].writerRebuilt() }
    resendOutbox()
    try publishBacklog()
  }

  /// An input's log ended there, asked for since the partition was opened: where that is exactly our position,
  /// everything until then is decided. An end before our position is either old, and then a later record has told more,
  /// or, where we had already decided more when it was asked for, that of a log that was cut or made again: whatever
  /// comes into it now has offsets that we have passed.
  package func confirmEnd(_ end: LogEnd) throws(PipelineError) {
    guard end.offset >= end.decided else {
      throw .logReplaced(
        topic: service.inputs[end.input].topic, partition: partition,
        detail: "the log ends at \(end.offset), and was read up to \(end.decided)")
    }
    if inputs[end.input].nextOffset == end.offset { endsConfirmedAt[end.input] = end.asked }
  }

  /// The epoch of this owner; 0 before it took the partition over.
  package var ownEpoch: Int64 { epoch }

  /// The position as it stands: what was committed last.
  package var nextOffsets: [Int64] { inputs.map(\.nextOffset) }

  /// What the worker's rules look at (``WorkerState``).
  package var standing: PartitionStanding {
    PartitionStanding(nextOffsets: nextOffsets, isFull: isOutboxFull || counts.isFull, hasBacklog: hasBacklog)
  }

  /// The watermark that was committed last.
  package var committedWatermark: Timestamp { watermark }

  /// The highest arrival before which everything is decided, as the inputs stand.
  func currentWatermark(gates: [SequenceGate], lastArrivals: [Timestamp?]) -> Timestamp {
    var lowest: Timestamp?
    for (input, declaration) in service.inputs.enumerated() where declaration.boundsWatermark {
      var time = Timestamp(milliseconds: 0)
      if declaration.isSequenced {
        time = gates[input].consumedWatermark
      } else {
        if let arrival = lastArrivals[input] { time = arrival }
        if let asked = endsConfirmedAt[input] {
          time = max(time, asked.advanced(byMilliseconds: -PipelineLimits.clockErrorMilliseconds))
        }
      }
      lowest = lowest.map { min($0, time) } ?? time
    }
    return max(watermark, lowest ?? watermark)
  }

  /// Fresh state from the database after a commit failed that the state could not take back. That one goes first: two
  /// of them would take the memory twice, and have less of what partitions share. Where nothing can be read the
  /// partition is opened again.
  func reloadDecider() throws(PipelineError) {
    decider = nil
    decider = try store.load(partition, now: loadTime)
  }

  /// What was decided before had arrived by then: our clock may be behind the brokers', which wrote that.
  private var loadTime: Timestamp { max(clock.now, watermark) }

  func context(
    number: Int64, gates: [SequenceGate], lastArrivals: [Timestamp?], refusal: String? = nil,
    isDuplicateSuspected: Bool = false, timer: TimerQuota = .nothing
  ) -> BatchContext {
    BatchContext(
      partition: partition, partitionCount: partitionCount, now: clock.now, batchNumber: number,
      nextSequences: cursors.map(\.next), committedWatermark: watermark,
      watermark: currentWatermark(gates: gates, lastArrivals: lastArrivals),
      consumedWatermarks: gates.map(\.consumedWatermark), refusal: refusal,
      isDuplicateSuspected: isDuplicateSuspected,
      timer: timer)
  }
}

/// Limits of the protocol.
package enum PipelineLimits {
  /// How far the broker's clock and ours may lie apart.
  package static let clockErrorMilliseconds: Int64 = 5_000
  /// How far a watermark that nobody reads may lie behind before it is stored, although nothing else is: so that a
  /// partition without traffic keeps no day from being sealed.
  package static let watermarkRestMilliseconds: Int64 = 60_000
  /// The same of a watermark that others read, while batches come: they store it, too.
  package static let busyWatermarkRestMilliseconds: Int64 = 1_000
  /// Messages read back from the database at once for publishing again.
  package static let backlogMessagesMaximum = 2_000
  /// Key, value and headers of a record that is sent on, in bytes: far below what a producer takes, which more headers
  /// than an event needs could exceed.
  package static let forwardedBytesMaximum = 64 << 10
  /// Things that a timer does in one batch once the database refused one of them.
  static let timerItemsAfterRefusal = 1_024
  /// How long a timer rests after it passed one over.
  static let timerRestMilliseconds: Int64 = 10_000
}
