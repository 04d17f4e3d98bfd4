import AdCore
import AdEvents
import Testing

@testable import ImpressionTrackingCore

@Suite struct UnwrittenCountsTests {
  private static let start = Timestamp(milliseconds: 1_790_000_000_000)

  private static func counts(keys: Int) throws -> UnwrittenCounts {
    var counts = UnwrittenCounts([:], now: start)
    let event = ServedEvent(
      kind: .viewed, terms: try Sample.terms(), age: .milliseconds(0), claimedTime: nil, error: nil)
    for minute in 0..<keys {
      _ = counts.add(MinuteKey(event, kind: .viewed, time: start.advanced(byMilliseconds: Int64(minute) * 60_000)))
    }
    return counts
  }

  @Test(
    "M6: few counts are written each second, many as slowly as a thousand rows a second, none later than 10 s",
    arguments: [(1, 1_000), (1_000, 1_000), (2_500, 2_500), (10_000, 10_000), (20_000, 10_000)] as [(Int, Int64)])
  func interval(keys: Int, milliseconds: Int64) throws {
    var counts = try Self.counts(keys: keys)
    #expect(!counts.isDue(now: Self.start.advanced(byMilliseconds: milliseconds - 1)))
    let due = Self.start.advanced(byMilliseconds: milliseconds)
    #expect(counts.isDue(now: due))
    #expect(counts.due(now: due).count == keys)
    counts.committed()
    #expect(!counts.isDue(now: due.advanced(byMilliseconds: 60_000)))
  }

  @Test("No counts are never due; too many are due at once, so that memory is bounded")
  func bounds() throws {
    #expect(!(try Self.counts(keys: 0)).isDue(now: Self.start.advanced(byMilliseconds: 60_000)))
    #expect(try Self.counts(keys: UnwrittenCounts.keysMaximum).isDue(now: Self.start))
  }
}
