/// What a worker is to do, in the order in which it is said. What comes of it is told to the rules at once.
package enum WorkerAction<Batch: Sendable>: Sendable {
  /// A new pipeline takes the partition over: ``WorkerState/opened(_:epoch:_:)``, or failed.
  case open(Int32, by: PartitionClaim, partitionCount: Int32)
  /// The batch is decided and committed: ``WorkerState/finishedBatch(_:)``, or failed.
  case process(Int32, Batch)
  /// The pipeline hears where an input's log ended.
  case confirmEnd(Int32, LogEnd)
  /// The pipelines hear what was delivered: ``WorkerState/stands(_:_:)``.
  case deliver([Receipt])
  /// The pipeline hears what became of its counts: ``WorkerState/stands(_:_:)``, or failed.
  case counted(CountReport)
  /// The worker sends to the producer that there is now: ``WorkerState/adoptedWriter()`` where that is a new one.
  case adoptWriter
  /// What an older producer may have lost is sent again: ``WorkerState/stands(_:_:)``, or failed.
  case publishAgain(Int32)
  /// A part of what is committed and was not sent goes out: ``WorkerState/stands(_:_:)``, or failed.
  case publishBacklog(Int32)
  /// Timers, what consumers miss, what was delivered, the watermark: ``WorkerState/stands(_:_:)``, or failed.
  case tick(Int32)
  /// It is measured how old the watermarks are.
  case measure
  /// What the partition's pipeline has counted is handed over: its next owner has nothing to count again.
  case flushCounts(Int32)
  /// The partition's pipeline, where it has one, is thrown away.
  case drop(Int32)
  /// It is said and counted that the partition was given up and why; nothing but a person can mend what is `forPerson`.
  case report(Int32, PipelineError, forPerson: Bool)
  /// The reader hears of it.
  case tell(WorkerEvent)
  /// Everything is thrown away, and the worker ends.
  case end
}

/// The rules by which a worker serves its partitions: which commands count, what an error means, when the reader hears
/// of a finished batch, what is published again and when. Told what happened, it answers with what to do; it never
/// waits and touches nothing.
///
/// Whatever fails in a pipeline ends this opening of the partition: the pipeline is thrown away and the reader told,
/// who has it opened again after a while, or forgets it where somebody else has fenced it.
package struct WorkerState<Batch: Sendable>: Sendable {
  package typealias Action = WorkerAction<Batch>

  private enum Phase: Equatable {
    /// A pipeline takes it over; nothing is done with it. To `open` when it has, to `stopped` when the log is another
    /// one than the position's, or commits were lost; forgotten when anything else fails, or when it is closed.
    case opening
    /// Batches are committed and ticks done. To `opening` when it is to be opened anew, to `stopped` when the log is
    /// another one or commits were lost; forgotten when anything else fails, or when it is closed.
    case open
    /// It waits for a person, and nothing is done with it. To `opening` each time that the reader tries; forgotten when
    /// it is closed.
    case stopped(PipelineError.Kind)

    var isStopped: Bool { if case .stopped = self { true } else { false } }
  }

  private struct Opening {
    let generation: UInt64
    var phase = Phase.opening
    /// Batches that were finished and the reader has not heard of: it hands over no more before it has.
    var untoldBatches = 0
    var hasBacklog = false
  }

  package static var tickMilliseconds: Int64 { 1_000 }

  private var openings: [Int32: Opening] = [:]
  private var nextTick: Int64
  /// It was told to stop; nothing is done any more.
  package private(set) var isEnded = false

  /// - Parameter now: monotonic milliseconds.
  package init(now: Int64) { nextTick = now + Self.tickMilliseconds }

  // MARK: What happened

  package mutating func told(_ command: WorkerCommand<Batch>) -> [Action] {
    guard !isEnded else { return [] }
    switch command {
    case .open(let partition, let claim, let partitionCount, let generation):
      openings[partition] = Opening(generation: generation)
      return [.drop(partition), .open(partition, by: claim, partitionCount: partitionCount)]
    case .batch(let partition, let batch, let generation):
      return isOpen(partition, generation) ? [.process(partition, batch)] : []
    case .confirmEnd(let partition, let end, let generation):
      // Of an earlier opening it may be the end of a log in whose place a person has accepted this one.
      return isOpen(partition, generation) ? [.confirmEnd(partition, end)] : []
    case .delivered(let receipts):
      return [.deliver(receipts)]
    case .writerRebuilt:
      return [.adoptWriter]
    case .counted(let report):
      return [.counted(report)]
    case .close(let partition, let generation):
      if let opening = openings[partition], opening.generation > generation { return [] }
      openings[partition] = nil
      return [.flushCounts(partition), .drop(partition), .tell(.closed(partition, generation: generation))]
    case .stop:
      openings = [:]
      isEnded = true
      return [.end]
    }
  }

  /// Time has passed. Everything is ticked once in a while.
  package mutating func ticked(now: Int64) -> [Action] {
    guard !isEnded, now >= nextTick else { return [] }
    nextTick = now + Self.tickMilliseconds
    return openPartitions.map { .tick($0) } + [.measure]
  }

  // MARK: What came of an action

  package mutating func opened(_ partition: Int32, epoch: Int64, _ standing: PartitionStanding) -> [Action] {
    guard let opening = openings[partition], opening.phase == .opening else { return [] }
    openings[partition]?.phase = .open
    let event = WorkerEvent.opened(
      partition, epoch: epoch, offsets: standing.nextOffsets, generation: opening.generation)
    return [.tell(event)] + stands(partition, standing)
  }

  /// A batch was committed; how the partition stands then is told next.
  package mutating func finishedBatch(_ partition: Int32) {
    if openings[partition]?.phase == .open { openings[partition]?.untoldBatches += 1 }
  }

  /// Something was done for the partition. The reader hears of finished batches only while there is room: it
  /// hands over no more than a few that it has not heard of.
  package mutating func stands(_ partition: Int32, _ standing: PartitionStanding) -> [Action] {
    guard let opening = openings[partition], opening.phase == .open else { return [] }
    openings[partition]?.hasBacklog = standing.hasBacklog
    guard !standing.isFull else { return [] }
    openings[partition]?.untoldBatches = 0
    let event = WorkerEvent.finishedBatch(
      partition, nextOffsets: standing.nextOffsets, generation: opening.generation)
    return Array(repeating: .tell(event), count: opening.untoldBatches)
  }

  package mutating func adoptedWriter() -> [Action] { openPartitions.map { .publishAgain($0) } }

  package mutating func failed(_ partition: Int32, _ error: PipelineError) -> [Action] {
    guard let opening = openings[partition], !opening.phase.isStopped else { return [] }
    openings[partition] =
      error.kind.stops ? Opening(generation: opening.generation, phase: .stopped(error.kind)) : nil
    let tells: [Action] = [.tell(.failed(partition, error, generation: opening.generation))]
    // Whoever is fenced has nothing to mend: another member has it.
    guard error != .fenced else { return [.drop(partition)] + tells }
    return [.drop(partition), .report(partition, error, forPerson: error.kind.isForPerson)] + tells
  }

  // MARK: What follows from it

  /// What is due before anything else is waited for: a part of each backlog.
  package var backlog: [Action] {
    openPartitions.filter { openings[$0]?.hasBacklog ?? false }.map { .publishBacklog($0) }
  }

  /// How long the worker may wait for a command.
  package func waitMilliseconds(now: Int64) -> Int64 {
    openings.values.contains(where: \.hasBacklog) ? 0 : max(0, nextTick - now)
  }

  package var openCount: Int { count { $0 == .open } }

  /// Partitions that wait for a person since their log was replaced.
  package var stoppedCount: Int { count { $0 == .stopped(.logReplaced) } }

  /// Those that wait since commits were lost.
  package var commitsLostCount: Int { count { $0 == .stopped(.commitsLost) } }

  private func isOpen(_ partition: Int32, _ generation: UInt64) -> Bool {
    openings[partition].map { $0.phase == .open && $0.generation == generation } ?? false
  }

  private var openPartitions: [Int32] { openings.filter { $0.value.phase == .open }.keys.sorted() }

  private func count(_ isMeant: (Phase) -> Bool) -> Int { openings.values.count { isMeant($0.phase) } }
}

extension WorkerAction: Equatable where Batch: Equatable {}
