import AdCore
import TestValues
import Testing

@testable import Pipeline

@Suite("Counts of what came last")
struct RecentCountsTests {
  @Test("The partitions of a process count within one bound, each at least one thing, and give back what they had")
  func bounded() {
    let bound = SharedBound(1_000)
    var partitions = (0..<100).map { _ in RecentCounts<UInt64>(sharing: bound) }
    for thing in 0..<50_000 as Range<UInt64> {
      let index = Int(thing % 100)
      partitions[index].note(thing, count: 7)
      #expect(partitions[index][thing] == 7)
      #expect(partitions[index].thingCount <= 10)
    }
    #expect((1...1_000).contains(bound.held))
    #expect(partitions.map(\.thingCount).reduce(0, +) == bound.held)
    partitions = []
    #expect(bound.held == 0)
  }

  @Test("What comes again is not forgotten, however many others come; those that do not come are, the oldest first")
  func comesAgain() {
    var counts = RecentCounts<UInt64>(sharing: SharedBound(100))
    for thing in 1...10_000 as ClosedRange<UInt64> {
      counts.note(0, count: counts[0] + 1)
      counts.note(thing, count: 1)
    }
    #expect(counts[0] == 10_000)
    #expect((9_952...10_000 as ClosedRange<UInt64>).allSatisfy { counts[$0] == 1 })
    #expect(counts[9_900] == 0)
  }

  @Test("Whoever has more than his part, once others come, forgets until he has not")
  func others() {
    let bound = SharedBound(100)
    var first = RecentCounts<UInt8>(sharing: bound)
    #expect((0..<90 as Range<UInt64>).filter { first.restore($0, count: 1) }.count == 90)
    var other = RecentCounts<UInt8>(sharing: bound)
    // What there is left, and no more: to read back forgets nothing.
    #expect((0..<50 as Range<UInt64>).filter { other.restore($0, count: 1) }.count == 10)
    first.keepToQuota()
    #expect(first.thingCount <= 50 && bound.held == first.thingCount + 10)
    for thing in 0..<1_000 as Range<UInt64> { other.note(thing, count: 1) }
    #expect((25...50).contains(other.thingCount))
    other.forgetAll()
    #expect(other.thingCount == 0 && bound.held == first.thingCount)
  }

  @Test("Whatever is noted, what is known is what was noted last, and what is taken is what is held", arguments: 1...20)
  func random(seed: UInt64) {
    var random = SeededChance(seed: seed)
    let bound = SharedBound(Int.random(in: 1...40, using: &random))
    var partitions = (0..<4).map { _ in RecentCounts<UInt8>(sharing: bound) }
    var noted: [[UInt64: UInt8]] = Array(repeating: [:], count: 4)
    for _ in 0..<2_000 {
      let index = Int.random(in: 0..<4, using: &random)
      let thing = UInt64.random(in: 0..<30, using: &random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0: partitions[index].keepToQuota()
      case 1:
        partitions[index] = RecentCounts<UInt8>(sharing: bound)
      default:
        let count = UInt8.random(in: 1...200, using: &random)
        partitions[index].note(thing, count: count)
        noted[index][thing] = count
        #expect(partitions[index][thing] == count)
      }
      for (known, noted) in zip(partitions, noted) {
        for (thing, count) in noted { #expect([0, count].contains(known[thing])) }
      }
      // One more each, that stands alone.
      let things: [Int] = partitions.map(\.thingCount)
      #expect(things.reduce(0, +) <= bound.maximum + 4)
      #expect(bound.held <= things.reduce(0, +))
    }
  }
}
