/// What the reader of a service's inputs is to do, in the order in which it is said.
package enum ReaderAction: Hashable, Sendable {
  /// The partition's worker is told to take it over.
  case open(Int32, by: PartitionClaim, partitionCount: Int32, generation: UInt64)
  /// What was collected of it is thrown away, and a new batch begins.
  case discard(Int32)
  /// Its worker gets what was collected of it, and a new batch begins.
  case handOver(Int32, generation: UInt64)
  /// The consumer brings no records of it until it is resumed, or assigned anew.
  case pause(Int32)
  case resume(Int32)
  /// Its worker is told to finish what it has and to give it up.
  case close(Int32, generation: UInt64)
  /// It was given up in order: others are to have it soon.
  case free(Int32)
}

/// How far an opening of a partition is.
package struct PartitionProgress: Hashable, Sendable {
  package var generation: UInt64
  /// Per input: decided and committed up to here.
  package var doneOffsets: [Int64]
}

/// How much the reader collects of a partition before its worker gets it.
package struct IntakeLimits: Hashable, Sendable {
  /// Batches of a partition at its worker: one at work and one decoded meanwhile.
  package static let batchesAtWorkerMaximum = 2
  package static let reopenMillisecondsMinimum: Int64 = 100
  package static let reopenMillisecondsMaximum: Int64 = 10_000
  /// The least time between two batches of watermarks alone. It doubles with each that follows another: a network on which
  /// nothing happens would else store several batches a second and partition, of which each says nothing but the time.
  package static let quietMillisecondsMinimum: Int64 = 1_000

  /// A batch with so many records waits for no more.
  package var batchRecordsMaximum: Int
  /// Nor one that takes so many bytes.
  package var batchBytesMaximum: Int
  /// What the batches of all partitions may take, collected or at their workers, in bytes. A partition collects as long as
  /// it holds less than what is left of this: of n busy ones each gets an (n + 1)th part, and those with little to do
  /// never wait for the others.
  package var heldBytesMaximum: Int
  /// The least time between two batches of a partition: what comes after more than that is not kept waiting, and what
  /// comes more often goes together.
  package var lingerMilliseconds: Int64
  /// The most that the time between two batches of watermarks alone comes to.
  package var quietMillisecondsMaximum: Int64

  package init(
    batchRecordsMaximum: Int, batchBytesMaximum: Int, heldBytesMaximum: Int, lingerMilliseconds: Int64,
    quietMillisecondsMaximum: Int64
  ) {
    self.batchRecordsMaximum = batchRecordsMaximum
    self.batchBytesMaximum = batchBytesMaximum
    self.heldBytesMaximum = heldBytesMaximum
    self.lingerMilliseconds = lingerMilliseconds
    self.quietMillisecondsMaximum = quietMillisecondsMaximum
  }

  /// The least time between a batch and the next one.
  ///
  /// - Parameter quietBatches: so many of watermarks alone came before one more; nil where there is something else.
  func restMilliseconds(quietBatches: Int?) -> Int64 {
    guard let quietBatches else { return lingerMilliseconds }
    let doubled = Self.quietMillisecondsMinimum << Int64(min(quietBatches, 16))
    return max(lingerMilliseconds, min(doubled, quietMillisecondsMaximum))
  }
}

/// What was collected of a partition.
package struct CollectedSize: Hashable, Sendable {
  package var records: Int
  /// What they take in memory.
  package var bytes: Int
  /// Something else than how far the writers of its inputs have come.
  package var hasNews: Bool

  package static let nothing = CollectedSize(records: 0, bytes: 0, hasNews: false)

  package init(records: Int, bytes: Int, hasNews: Bool) {
    self.records = records
    self.bytes = bytes
    self.hasNews = hasNews
  }
}

/// What the reader knows of one partition number that this instance has: told what happened, it answers with what to
/// do. An opening has a generation: what is told of an earlier one counts no more.
struct PartitionIntake: Sendable {
  enum Phase: Hashable, Sendable {
    /// A worker takes it over; nothing is read. To `open` when it has, to `waiting` when it failed, to `closing` when it
    /// is to be given up; forgotten when somebody else has fenced it.
    case opening
    /// Records are read and handed on. To `opening` when the log no longer has what is to be read, or may be another one
    /// than before, or the network grew;
    /// to `waiting` when the worker failed, to `closing` when it is to be given up; forgotten when somebody else has it.
    case open
    /// It failed. To `opening` at this time (monotonic ms), to `closing` when it is to be given up.
    case waiting(until: Int64)
    /// A worker finishes what it has of it. Forgotten when it has; a failure changes nothing, nor does another order.
    case closing
  }

  /// Whether the log behind what is read is still the one that the partition was opened on.
  private enum Connection {
    case unbroken
    /// A broker's connection was lost: a log may come back without its end, and have another one by now.
    case lost
    /// And something was read since, which is not collected: whoever has it can be asked.
    case restored
  }

  let partition: Int32
  private(set) var phase = Phase.opening
  private(set) var generation: UInt64 = 0
  /// By what right it was opened last, and is opened again.
  private var claim: PartitionClaim
  private var partitionCount: Int32 = 0
  /// Per input: the offset to read next.
  private(set) var readOffsets: [Int64] = []
  /// Per input: decided and committed up to here.
  private(set) var doneOffsets: [Int64] = []
  /// Something is collected that no worker has.
  private(set) var hasCollected = false
  /// Among it something else than watermarks.
  private var hasNews = false
  /// Of watermarks alone, in succession.
  private var quietBatches = 0
  /// When its worker got the last batch (monotonic ms); nil before the first.
  private var handedOverAt: Int64?
  /// What those take that its worker has, the first one first.
  private var batchesAtWorker: [Int] = []
  private var isPaused = false
  private var connection = Connection.unbroken
  /// In succession.
  private var failures = 0
  /// Why it was not opened last; nil once it is.
  private(set) var failure: PipelineError.Kind?

  init(_ partition: Int32, claim: PartitionClaim) {
    self.partition = partition
    self.claim = claim
  }

  var progress: PartitionProgress { PartitionProgress(generation: generation, doneOffsets: doneOffsets) }

  // MARK: Ownership

  /// It is taken, or opened again by the owner that it has, or by the number that the owner has by now.
  mutating func open(as member: Int32?, partitionCount count: Int32?, generation: UInt64) -> [ReaderAction] {
    guard phase != .closing else { return [] }
    claim.owner = member ?? claim.owner
    partitionCount = count ?? max(partitionCount, partition + 1)
    self.generation = generation
    phase = .opening
    hasCollected = false
    return [.discard(partition), .open(partition, by: claim, partitionCount: partitionCount, generation: generation)]
  }

  /// Whether it must be opened again: its time to wait is over, its log may be another one, or its topic has more partitions
  /// than when it was opened. The count says where requests belong and which partitions a token may name.
  func isToBeReopened(now: Int64, partitionCount count: Int32?) -> Bool {
    switch phase {
    case .waiting(let until): until <= now
    case .open: connection == .restored || count.map { partitionCount < $0 } ?? false
    case .opening, .closing: false
    }
  }

  /// It is to be given up in order: nothing more is read of it, and what its worker has is finished.
  mutating func release() -> [ReaderAction] {
    guard phase != .closing else { return [] }
    phase = .closing
    hasCollected = false
    return [.discard(partition), .close(partition, generation: generation)]
  }

  // MARK: The worker's word

  /// The worker has it, and its position is `offsets`.
  mutating func opened(epoch: Int64, offsets: [Int64]) {
    guard phase == .opening else { return }
    phase = .open
    claim.seenEpoch = epoch
    readOffsets = offsets
    doneOffsets = offsets
    hasCollected = false
    handedOverAt = nil
    quietBatches = 0
    batchesAtWorker = []
    isPaused = false
    connection = .unbroken
    failures = 0
    failure = nil
  }

  /// The consumer has lost a broker. What is read next must not be taken for what follows: the partition is opened again as
  /// soon as there is something, and its position compared with the log.
  mutating func connectionLost() { if connection == .unbroken { connection = .lost } }

  mutating func finishedBatch(nextOffsets: [Int64]) {
    guard phase == .open else { return }
    if !batchesAtWorker.isEmpty { batchesAtWorker.removeFirst() }
    doneOffsets = nextOffsets
  }

  /// It is opened again after a while that doubles with each failure.
  mutating func failed(_ error: PipelineError, now: Int64) -> [ReaderAction] {
    guard phase != .closing else { return [] }
    failure = error.kind
    let doublings = min(failures, 7)
    failures += 1
    let delay = min(
      IntakeLimits.reopenMillisecondsMinimum << Int64(doublings), IntakeLimits.reopenMillisecondsMaximum)
    phase = .waiting(until: now + delay)
    hasCollected = false
    batchesAtWorker = []
    return [.discard(partition)]
  }

  // MARK: Records

  /// Whether the record is the next one to be collected, or one behind it; one that was read before, as after the
  /// consumer was assigned anew, is not.
  mutating func takes(input: Int, offset: Int64) -> Bool {
    guard phase == .open, offset >= readOffsets[input], isUnbroken() else { return false }
    hasCollected = true
    readOffsets[input] = offset + 1
    return true
  }

  private mutating func isUnbroken() -> Bool {
    if connection == .lost { connection = .restored }
    return connection == .unbroken
  }

  /// Whether the position moves over holes at the log's end (transaction markers).
  mutating func takesEnd(input: Int, offset: Int64) -> Bool {
    guard phase == .open, offset > readOffsets[input], isUnbroken() else { return false }
    hasCollected = true
    readOffsets[input] = offset
    return true
  }

  /// What its worker's batches take.
  var bytesAtWorker: Int { batchesAtWorker.reduce(0, +) }

  /// Something was read or finished, or time has passed: the worker gets a batch that is due, one more where it is full,
  /// and no more is read while it is full, or memory is, and the worker is behind.
  ///
  /// - Parameters:
  ///   - size: of what was collected.
  ///   - left: so many bytes more may be held by all partitions together.
  mutating func polled(_ size: CollectedSize, left: Int, limits: IntakeLimits, now: Int64) -> [ReaderAction] {
    guard phase == .open else { return [] }
    hasNews = size.hasNews
    let held = size.bytes + bytesAtWorker
    let isOver = held >= left && (held > 0 || left <= 0)
    let isFull = isOver || size.records >= limits.batchRecordsMaximum || size.bytes >= limits.batchBytesMaximum
    var actions: [ReaderAction] = []
    if waitMilliseconds(limits: limits, now: now) == 0
      || isFull && hasCollected && batchesAtWorker.count < IntakeLimits.batchesAtWorkerMaximum
    {
      hasCollected = false
      handedOverAt = now
      quietBatches = hasNews ? 0 : quietBatches + 1
      batchesAtWorker.append(size.bytes)
      actions.append(.handOver(partition, generation: generation))
    }
    if isOver || isFull && actions.isEmpty {
      if !isPaused { actions.append(.pause(partition)) }
      isPaused = true
    } else if isPaused, !actions.isEmpty || 2 * held <= left {
      // Not at once when there is a little room again: what was fetched ahead is fetched anew.
      isPaused = false
      actions.append(.resume(partition))
    }
    return actions
  }

  /// How long until what was collected is due; nil while nothing is, or the worker has to finish a batch first.
  func waitMilliseconds(limits: IntakeLimits, now: Int64) -> Int64? {
    guard phase == .open, batchesAtWorker.isEmpty, hasCollected else { return nil }
    let rest = limits.restMilliseconds(quietBatches: hasNews ? nil : quietBatches)
    return handedOverAt.map { max(0, $0 + rest - now) } ?? 0
  }

  /// The consumer reads it from ``readOffsets`` on, and is not paused.
  mutating func assigned() { isPaused = false }

  var leasePhase: LeasePhase {
    switch phase {
    case .opening, .waiting: .opening
    case .open: .open
    case .closing: .closing
    }
  }
}
