/// What the keeper of the leases tells the reader.
package enum LeaseOrder: Hashable, Sendable {
  case take([Int32: PartitionClaim])
  /// In order: the open batch is finished first.
  case release([Int32])
  /// Others have taken them.
  case lose([Int32])
  /// Whether this instance has its quota, and no more.
  case balanced(Bool)
}

/// The rules by which a service's inputs are read: which partitions are opened, read, paused, handed to their workers,
/// opened again and given up. Told what happened, it answers with what to do; it never waits and touches nothing.
///
/// The next batch of a partition is collected while the last one commits; a partition whose worker is behind is paused.
package struct ReaderState: Sendable {
  private let limits: IntakeLimits
  private var intakes: [Int32: PartitionIntake] = [:]
  private var generations: UInt64 = 0
  private var isAssignmentStale = false
  private var isBalanced = false

  package init(limits: IntakeLimits) { self.limits = limits }

  // MARK: What happened

  /// - Parameter partitionCount: of the first input, as last seen; nil before.
  package mutating func ordered(_ order: LeaseOrder, partitionCount: Int32?) -> [ReaderAction] {
    switch order {
    case .take(let claims):
      return claims.sorted { $0.key < $1.key }.flatMap { partition, claim -> [ReaderAction] in
        guard intakes[partition] == nil else { return [] }
        intakes[partition] = PartitionIntake(partition, claim: claim)
        return open(partition, as: nil, partitionCount: partitionCount)
      }
    case .release(let partitions):
      isAssignmentStale = true
      return partitions.flatMap { intakes[$0]?.release() ?? [] }
    case .lose(let partitions):
      return partitions.flatMap { partition -> [ReaderAction] in
        guard let intake = intakes[partition], intake.phase == .open else { return [] }
        forget(partition)
        return [.discard(partition), .close(partition, generation: intake.generation)]
      }
    case .balanced(let isBalanced):
      self.isBalanced = isBalanced
      return []
    }
  }

  package mutating func told(_ event: WorkerEvent, now: Int64) -> [ReaderAction] {
    switch event {
    case .opened(let partition, let epoch, let offsets, let generation):
      guard intakes[partition]?.generation == generation else { return [] }
      intakes[partition]?.opened(epoch: epoch, offsets: offsets)
      isAssignmentStale = true
    case .finishedBatch(let partition, let offsets, let generation):
      guard intakes[partition]?.generation == generation else { return [] }
      intakes[partition]?.finishedBatch(nextOffsets: offsets)
    case .failed(let partition, let error, let generation):
      guard let intake = intakes[partition], intake.generation == generation else { return [] }
      isAssignmentStale = true
      // It is another instance's now, and taken again only as the leases say.
      guard error == .fenced, intake.phase != .closing else {
        return intakes[partition]?.failed(error, now: now) ?? []
      }
      forget(partition)
      return [.discard(partition)]
    case .closed(let partition, let generation):
      guard intakes[partition]?.generation == generation else { return [] }
      forget(partition)
      return [.discard(partition), .free(partition)]
    }
    return []
  }

  /// Time has passed.
  ///
  /// - Parameter member: the number under which this instance takes part now; nil before the first.
  package mutating func ticked(now: Int64, member: Int32?, partitionCount: Int32?) -> [ReaderAction] {
    var actions: [ReaderAction] = []
    for (partition, intake) in intakes where intake.isToBeReopened(now: now, partitionCount: partitionCount) {
      actions += open(partition, as: member, partitionCount: partitionCount)
    }
    return actions
  }

  /// The log no longer has what is to be read: the worker looks where it begins.
  package mutating func refused(_ partition: Int32, member: Int32?, partitionCount: Int32?) -> [ReaderAction] {
    guard intakes[partition]?.phase == .open else { return [] }
    return open(partition, as: member, partitionCount: partitionCount)
  }

  /// The consumer has lost a broker's connection: what comes next may be of a log that was cut meanwhile and filled again.
  package mutating func connectionLost() {
    for partition in intakes.keys { intakes[partition]?.connectionLost() }
  }

  /// The consumer has brought what there was, or nothing.
  ///
  /// - Parameter size: of what was collected of a partition.
  package mutating func polled(now: Int64, size: (Int32) -> CollectedSize) -> [ReaderAction] {
    let held = intakes.reduce(0) { $0 + size($1.key).bytes + $1.value.bytesAtWorker }
    let left = limits.heldBytesMaximum - held
    var actions: [ReaderAction] = []
    var index = intakes.startIndex
    while index < intakes.endIndex {
      actions += intakes.values[index].polled(size(intakes.keys[index]), left: left, limits: limits, now: now)
      intakes.formIndex(after: &index)
    }
    return actions
  }

  /// Everything is to be given up.
  package mutating func stopped() -> [ReaderAction] {
    ordered(.release(intakes.keys.sorted()), partitionCount: nil)
  }

  // MARK: Records, one by one

  /// Whether a record is collected.
  package mutating func takes(_ partition: Int32, input: Int, offset: Int64) -> Bool {
    // In place: a value taken out of the dictionary and put back costs more.
    guard let index = intakes.index(forKey: partition) else { return false }
    return intakes.values[index].takes(input: input, offset: offset)
  }

  /// Whether the position moves over holes at the end of an input's log.
  package mutating func takesEnd(_ partition: Int32, input: Int, offset: Int64) -> Bool {
    intakes[partition]?.takesEnd(input: input, offset: offset) ?? false
  }

  // MARK: What follows from it

  /// From where the consumer is to read each open partition from now on, per input; nil while it already does.
  package mutating func takeAssignment() -> [Int32: [Int64]]? {
    guard isAssignmentStale else { return nil }
    isAssignmentStale = false
    for partition in intakes.keys { intakes[partition]?.assigned() }
    return ofOpen(\.readOffsets)
  }

  /// The longest that the consumer may wait for records.
  package func waitMilliseconds(now: Int64, atMost maximum: Int64) -> Int64 {
    intakes.values.reduce(maximum) { min($0, $1.waitMilliseconds(limits: limits, now: now) ?? maximum) }
  }

  /// Whether what was collected waits for something: then the reader must hear of a finished batch at once.
  package var hasCollected: Bool { intakes.values.contains(where: \.hasCollected) }

  /// How far each open partition is.
  package var progress: [Int32: PartitionProgress] { ofOpen(\.progress) }

  package var phases: [Int32: LeasePhase] { intakes.mapValues(\.leasePhase) }

  /// It has its quota of the partitions, no more, and works on all of them.
  package var isReady: Bool { isBalanced && intakes.values.allSatisfy { $0.phase == .open } }

  /// Why it is not ready; nil when it is.
  package var notReady: String? {
    if isReady { return nil }
    let failures = Set(intakes.values.compactMap(\.failure))
    if failures.contains(.commitsLost) { return "commits were lost: 'handbill restore accept' (docs/runbooks.md)" }
    if failures.contains(.logReplaced) { return "a log was replaced: 'handbill log accept' (docs/runbooks.md)" }
    return "partitions are being taken over"
  }

  package var isEmpty: Bool { intakes.isEmpty }

  private func ofOpen<Value>(_ value: KeyPath<PartitionIntake, Value>) -> [Int32: Value] {
    intakes.filter { $0.value.phase == .open }.mapValues { $0[keyPath: value] }
  }

  private mutating func open(_ partition: Int32, as member: Int32?, partitionCount: Int32?) -> [ReaderAction] {
    isAssignmentStale = true
    generations += 1
    return intakes[partition]?.open(as: member, partitionCount: partitionCount, generation: generations) ?? []
  }

  private mutating func forget(_ partition: Int32) {
    isAssignmentStale = true
    intakes[partition] = nil
  }
}
