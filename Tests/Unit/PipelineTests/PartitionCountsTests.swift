import AdCore
import Testing

@testable import Pipeline

/// Counts of partition 3 at batch 7; a class, since a macro cannot change a value in its place.
private final class Collected {
  static let start = Timestamp(milliseconds: 1_790_000_000_000)
  static let maximum = PipelineMemory.countKeysMaximum
  private var counts = PartitionCounts<Int, Int64>(epoch: 4, after: 7, now: start, keysMaximum: maximum)

  /// - Parameter keys: of batch 8, after everything before is counted; nil while it is not.
  init(keys: Int?) {
    guard let keys else { return }
    _ = ended(upTo: 7)
    add(keys: keys, batch: 8)
  }

  var isFull: Bool { counts.isFull }

  func add(keys: Int, batch: Int64) {
    counts.collect(batch) { all in for key in 0..<keys { all[key, default: 0] += 1 } }
  }

  func flush(after milliseconds: Int64) -> CountFlush<Int, Int64>? {
    counts.flush(partition: 3, now: Self.start.advanced(byMilliseconds: milliseconds))
  }

  func last() -> CountFlush<Int, Int64>? { counts.lastFlush(partition: 3, now: Self.start) }

  func ended(upTo batch: Int64, epoch: Int64 = 4) -> Bool {
    counts.ended(CountReport(partition: 3, epoch: epoch, upTo: batch, isRefused: false))
  }
}

@Suite("Counts of a partition")
struct PartitionCountsTests {
  @Test(
    "M6: few counts are written each second, many as slowly as a thousand rows a second, none later than 10 s",
    arguments: [(1, 1_000), (1_000, 1_000), (2_500, 2_500), (10_000, 10_000), (20_000, 10_000), (0, 10_000)]
      as [(Int, Int64)])
  func interval(keys: Int, milliseconds: Int64) throws {
    let counts = Collected(keys: keys)
    #expect(counts.flush(after: milliseconds - 1) == nil)
    let flush = try #require(counts.flush(after: milliseconds))
    #expect(flush.partition == 3 && flush.upTo == 8)
    guard case .collected(let written, after: 7) = flush.content else {
      Issue.record("\(flush.content)")
      return
    }
    #expect(written.count == keys && written.values.allSatisfy { $0 == 1 })
    #expect(counts.ended(upTo: 8))
    #expect(counts.flush(after: milliseconds + 60_000) == nil, "nothing came since")
  }

  @Test("while a flush is under way the next batches are collected, and follow it")
  func following() throws {
    let counts = Collected(keys: 2)
    #expect(counts.flush(after: 1_000) != nil)
    counts.add(keys: 1, batch: 9)
    counts.add(keys: 1, batch: 10)
    #expect(counts.flush(after: 60_000) == nil)
    #expect(!counts.ended(upTo: 7), "that was another one")
    #expect(!counts.ended(upTo: 8, epoch: 3), "that was another owner's")
    #expect(counts.ended(upTo: 8))
    let flush = try #require(counts.flush(after: 60_000))
    guard case .collected([0: 2], after: 8) = flush.content, flush.upTo == 10 else {
      Issue.record("\(flush)")
      return
    }
  }

  @Test("a new owner's counts wait until the batches before it are counted")
  func opening() throws {
    let counts = Collected(keys: nil)
    counts.add(keys: 1, batch: 8)
    #expect(counts.flush(after: 60_000) == nil)
    #expect(counts.ended(upTo: 7))
    #expect(counts.flush(after: 60_000) != nil)
  }

  @Test("too many keys are flushed at once; while they cannot be, there is no room for more")
  func bounds() throws {
    let counts = Collected(keys: Collected.maximum)
    #expect(!counts.isFull)
    #expect(counts.flush(after: 0) != nil)
    counts.add(keys: Collected.maximum - 1, batch: 9)
    #expect(!counts.isFull)
    counts.add(keys: Collected.maximum, batch: 10)
    #expect(counts.isFull)
    #expect(counts.ended(upTo: 8))
    #expect(!counts.isFull)
    #expect(counts.flush(after: 0) != nil)
  }

  @Test("a clock that was set back holds nothing up")
  func clockSetBack() {
    #expect(Collected(keys: 1).flush(after: -3_600_000) != nil)
  }

  @Test("at the end of a process everything left follows the flush under way")
  func last() throws {
    let counts = Collected(keys: 1)
    #expect(counts.flush(after: 1_000) != nil)
    #expect(counts.last() == nil)
    counts.add(keys: 1, batch: 9)
    let last = try #require(counts.last())
    guard case .collected([0: 1], after: 8) = last.content, last.upTo == 9 else {
      Issue.record("\(last)")
      return
    }
  }
}

@Suite("A partition and its counts")
struct PipelineCountsTests {
  /// What of a flush is worth comparing.
  private func text(_ flush: CountFlush<String, Int64>) -> String {
    switch flush.content {
    case .stored: "stored up to \(flush.upTo)"
    case .collected(let counts, let after):
      "\(counts.sorted { $0.key < $1.key }.map { "\($0.key)\($0.value)" }.joined()) of \(after + 1) to \(flush.upTo)"
    }
  }

  private func tell(_ partition: EchoPartition, upTo: Int64, isRefused: Bool = false) throws {
    try partition.pipeline.counted(
      CountReport(partition: 0, epoch: partition.store.position.epoch, upTo: upTo, isRefused: isRefused))
  }

  @Test("M6: what the batches before it hold is counted again first, then its own, once each")
  func order() throws {
    let partition = EchoPartition()
    partition.store.position.batchNumber = 5
    try partition.open()
    try partition.process([(Echo.plain, .line("a")), (Echo.plain, .line("b")), (Echo.plain, .line("a"))])
    try partition.later(seconds: 2)
    #expect(partition.store.flushes.map(text) == ["stored up to 5"])
    try tell(partition, upTo: 5)
    #expect(partition.store.flushes.map(text) == ["stored up to 5", "a2b1 of 6 to 6"])
    try partition.process([(Echo.plain, .line("b"))])
    try tell(partition, upTo: 5)
    try partition.later(seconds: 2)
    #expect(partition.store.flushes.count == 2, "the one under way has not ended")
    try tell(partition, upTo: 6)
    #expect(partition.store.flushes.map(text).last == "b1 of 7 to 7")
  }

  @Test("a batch that the database refuses counts nothing; bisected, each part counts its own")
  func refused() throws {
    let partition = EchoPartition()
    try partition.open()
    try tell(partition, upTo: 0)
    try partition.process([(Echo.plain, .line("a")), (Echo.plain, .refused), (Echo.plain, .line("b"))])
    partition.pipeline.flushLastCounts()
    #expect(partition.store.flushes.map(text).last?.hasPrefix("a1b1 of 1 to ") == true)
  }

  @Test("a partition that somebody else has counted is given up")
  func countedElsewhere() throws {
    let partition = EchoPartition()
    try partition.open()
    #expect(throws: PipelineError.fenced) { try tell(partition, upTo: 0, isRefused: true) }
  }

  @Test("while a flush does not end, the partition fills up and then reads no more")
  func full() throws {
    let partition = EchoPartition()
    partition.pipeline.memory = PipelineMemory(countKeysMaximum: 2)
    try partition.open()
    try partition.process([(Echo.plain, .line("a"))])
    #expect(!partition.pipeline.standing.isFull)
    try partition.process([(Echo.plain, .line("b"))])
    #expect(partition.pipeline.standing.isFull)
    try tell(partition, upTo: 0)
    #expect(!partition.pipeline.standing.isFull)
    #expect(partition.store.flushes.map(text).last == "a1b1 of 1 to 2")
  }
}
