import Testing

@testable import PipelineHost

@Suite("Growth of a network")
struct PartitionGrowthTests {
  @Test(
    "new partitions are used once all topics have had them for five seconds; the first count, and without others, at once"
  )
  func delay() {
    var growth = PartitionGrowth()
    func used(_ count: Int32, at now: Int64, delay: Int64 = PartitionGrowth.delayMilliseconds) -> Int32 {
      growth.note(count, now: now, delayMilliseconds: delay)
      return growth.used
    }
    #expect(used(4, at: 0) == 4)
    #expect(used(8, at: 1_000) == 4)
    #expect(used(8, at: 5_999) == 4)
    #expect(used(8, at: 6_000) == 8)
    // One topic is behind again, or another count is seen: the time begins anew.
    #expect(used(16, at: 7_000) == 8)
    #expect(used(8, at: 9_000) == 8)
    #expect(used(16, at: 10_000) == 8)
    #expect(used(12, at: 14_000) == 8)
    #expect(used(12, at: 19_000) == 12)
    #expect(used(4, at: 20_000) == 12)
    #expect(used(20, at: 21_000, delay: 0) == 20)
  }
}
