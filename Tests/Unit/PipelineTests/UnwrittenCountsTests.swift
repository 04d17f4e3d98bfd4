import AdCore
import Testing

@testable import Pipeline

@Suite struct UnwrittenCountsTests {
  private static let start = Timestamp(milliseconds: 1_790_000_000_000)

  private static func counts(keys: Int) -> UnwrittenCounts<Int> {
    var counts = UnwrittenCounts<Int>([:], now: start)
    for key in 0..<keys { counts.add(key) }
    return counts
  }

  @Test(
    "M6: few counts are written each second, many as slowly as a thousand rows a second, none later than 10 s",
    arguments: [(1, 1_000), (1_000, 1_000), (2_500, 2_500), (10_000, 10_000), (20_000, 10_000)] as [(Int, Int64)])
  func interval(keys: Int, milliseconds: Int64) {
    var counts = Self.counts(keys: keys)
    #expect(!counts.isDue(now: Self.start.advanced(byMilliseconds: milliseconds - 1)))
    let due = Self.start.advanced(byMilliseconds: milliseconds)
    #expect(counts.isDue(now: due))
    #expect(counts.due(now: due).count == keys)
    counts.committed()
    #expect(!counts.isDue(now: due.advanced(byMilliseconds: 60_000)))
  }

  @Test("No counts are never due; too many are due at once, so that memory is bounded")
  func bounds() {
    #expect(!Self.counts(keys: 0).isDue(now: Self.start.advanced(byMilliseconds: 60_000)))
    #expect(Self.counts(keys: UnwrittenCounts<Int>.keysMaximum).isDue(now: Self.start))
  }
}
