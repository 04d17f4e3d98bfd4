@testable import Pipeline

/// One reader of a service with two inputs, whose batches are full with three records and lie 25 ms apart.
final class Reader {
  var state = ReaderState(
    limits: IntakeLimits(
      batchRecordsMaximum: 3, batchBytesMaximum: 1_000, heldBytesMaximum: 10_000, lingerMilliseconds: 25,
      quietMillisecondsMaximum: 8_000))
  var now: Int64 = 1_000
  var partitionCount: Int32?
  /// Records collected and not handed over, as a shell has them.
  var collected: [Int32: Int] = [:]
  /// What each of them takes.
  var bytesEach = 0
  /// They are nothing but watermarks.
  var isQuiet = false

  init(partitionCount: Int32? = 8) { self.partitionCount = partitionCount }

  /// Per open partition and input: decided and committed up to here.
  var doneOffsets: [Int32: [Int64]] { state.progress.mapValues(\.doneOffsets) }

  static let claim = PartitionClaim(owner: 7, seenEpoch: 4)

  func order(_ order: LeaseOrder) -> [ReaderAction] {
    state.ordered(order, partitionCount: partitionCount)
  }

  func tell(_ event: WorkerEvent) -> [ReaderAction] { state.told(event, now: now) }

  func tick(member: Int32? = 7) -> [ReaderAction] {
    state.ticked(now: now, member: member, partitionCount: partitionCount)
  }

  /// Reads the records of an input at these offsets, and says what follows from it.
  func poll(_ offsets: Int64..., partition: Int32 = 0, input: Int = 0) -> [ReaderAction] {
    for offset in offsets where state.takes(partition, input: input, offset: offset) {
      collected[partition, default: 0] += 1
    }
    let actions = state.polled(now: now) { [collected, bytesEach, isQuiet] in
      let records = collected[$0] ?? 0
      return CollectedSize(records: records, bytes: bytesEach * records, hasNews: records > 0 && !isQuiet)
    }
    for case .handOver(let partition, _) in actions { collected[partition] = 0 }
    return actions
  }

  func refuse() -> [ReaderAction] { state.refused(0, member: 7, partitionCount: partitionCount) }

  func takes(input: Int, offset: Int64) -> Bool { state.takes(0, input: input, offset: offset) }

  func takesEnd(_ partition: Int32 = 0, input: Int, offset: Int64) -> Bool {
    state.takesEnd(partition, input: input, offset: offset)
  }

  func assignment() -> [Int32: [Int64]]? { state.takeAssignment() }

  func stop() -> [ReaderAction] { state.stopped() }

  func take(_ partition: Int32 = 0) -> [ReaderAction] { order(.take([partition: Self.claim])) }

  /// Taken, opened by its worker at these offsets, and assigned.
  func open(_ partition: Int32 = 0, at offsets: [Int64] = [10, 20], generation: UInt64 = 1) {
    _ = take(partition)
    _ = tell(.opened(partition, epoch: 5, offsets: offsets, generation: generation))
    _ = state.takeAssignment()
  }
}
