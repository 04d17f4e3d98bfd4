import AdCore
import TestValues
import Testing

@testable import Pipeline

/// Partitions that are read with a limit on what all of their batches take, and workers that finish when they are told to.
private struct Readings {
  static let limits = IntakeLimits(
    batchRecordsMaximum: 10_000, batchBytesMaximum: 4_000, heldBytesMaximum: 10_000, lingerMilliseconds: 0,
    quietMillisecondsMaximum: 0)
  static let bytesEach = 100

  var state = ReaderState(limits: limits)
  var collected: [Int32: Int] = [:]
  /// Bytes of the batches of each partition that its worker has.
  var atWorker: [Int32: [Int]] = [:]
  var paused: Set<Int32> = []
  private var offsets: [Int32: Int64] = [:]

  init(partitions: Int32) {
    for partition in 0..<partitions {
      _ = state.ordered(.take([partition: PartitionClaim(owner: 7, seenEpoch: 4)]), partitionCount: partitions)
      _ = state.told(
        .opened(partition, epoch: 5, offsets: [0], generation: UInt64(partition) + 1), now: 0)
    }
    _ = state.takeAssignment()
  }

  var held: Int { collected.values.reduce(0) { $0 + $1 * Self.bytesEach } + atWorker.values.joined().reduce(0, +) }

  /// Reads so many records of a partition, unless it is paused.
  mutating func read(_ partition: Int32, _ records: Int) {
    guard !paused.contains(partition) else { return }
    for _ in 0..<records where state.takes(partition, input: 0, offset: offsets[partition, default: 0]) {
      offsets[partition, default: 0] += 1
      collected[partition, default: 0] += 1
    }
    poll()
  }

  mutating func poll() {
    for action in state.polled(
      now: 0,
      size: { [collected] in
        let records = collected[$0] ?? 0
        return CollectedSize(records: records, bytes: Self.bytesEach * records, hasNews: records > 0)
      })
    {
      switch action {
      case .handOver(let partition, _):
        atWorker[partition, default: []].append(Self.bytesEach * (collected[partition] ?? 0))
        collected[partition] = 0
      case .pause(let partition): paused.insert(partition)
      case .resume(let partition): paused.remove(partition)
      default: break
      }
    }
  }

  /// Its worker is done with its oldest batch.
  mutating func finish(_ partition: Int32) {
    guard atWorker[partition]?.isEmpty == false else { return }
    atWorker[partition]?.removeFirst()
    _ = state.told(
      .finishedBatch(partition, nextOffsets: [0], generation: UInt64(partition) + 1), now: 0)
    poll()
  }
}

@Suite("What all batches of a reader take")
struct ReaderMemoryTests {
  @Test(
    "Whatever the workers do, two hundred partitions hold no more together than they may, and what one read brings",
    arguments: 1...3 as ClosedRange<UInt64>)
  func bounded(seed: UInt64) {
    var random = SeededChance(seed: seed)
    var readings = Readings(partitions: 200)
    var most = 0
    for _ in 0..<5_000 {
      let partition = Int32.random(in: 0..<200, using: &random)
      if Int.random(in: 0..<10, using: &random) < 8 { readings.read(partition, 5) } else { readings.finish(partition) }
      most = max(most, readings.held)
    }
    #expect(most <= Readings.limits.heldBytesMaximum + 5 * Readings.bytesEach)
    #expect(most > Readings.limits.heldBytesMaximum / 2)
    // Nobody waits for ever: with the workers done, all of them are read again.
    for _ in 0..<3 { for partition in 0..<200 as Range<Int32> { readings.finish(partition) } }
    readings.poll()
    #expect(readings.paused.isEmpty)
  }

  @Test("A partition whose worker stands still takes half of what there is; others go on with the rest")
  func oneStuck() {
    var readings = Readings(partitions: 3)
    for _ in 0..<100 { readings.read(0, 5) }
    #expect(readings.paused == [0])
    #expect((3_000...6_000).contains(readings.held))
    for _ in 0..<100 {
      readings.read(1, 5)
      #expect(readings.atWorker[1]?.isEmpty == false)
      readings.finish(1)
      readings.finish(1)
    }
    #expect(readings.paused == [0])
    readings.finish(0)
    readings.finish(0)
    readings.finish(0)
    #expect(readings.paused.isEmpty)
  }
}
