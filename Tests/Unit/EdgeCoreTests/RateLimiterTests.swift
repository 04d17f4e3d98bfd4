import Testing

@testable import EdgeCore

@Suite("Limits of how much comes of one party")
struct RateLimiterTests {
  private static let second: Int64 = 1_000_000

  @Test("ten seconds' worth may come at once, then so many a second, and nobody pays for another")
  func allowance() {
    var limiter = RateLimiter(Rate(perSecond: 5))
    for _ in 0..<50 { #expect(limiter.admit(1, now: 0) == nil) }
    #expect(limiter.admit(1, now: 0) == 1)
    #expect(limiter.admit(2, now: 0) == nil)
    #expect(limiter.admit(1, now: Self.second) == nil)
    for _ in 0..<4 { #expect(limiter.admit(1, now: Self.second) == nil) }
    #expect(limiter.admit(1, now: Self.second) == 1)
    for _ in 0..<50 { #expect(limiter.admit(1, now: 100 * Self.second) == nil) }
    #expect(limiter.admit(1, now: 100 * Self.second) != nil)
  }

  @Test("a batch costs a request for each ten of its events, rounded up, and all of it or nothing")
  func batches() {
    #expect([1, 9, 10, 11, 100].map { Rate.cost(ofEvents: $0) } == [1, 1, 1, 2, 10])
    var limiter = RateLimiter(Rate(perSecond: 2))
    #expect(limiter.admit(1, of: 10, now: 0) == nil)
    #expect(limiter.admit(1, of: 9, now: 0) == nil)
    // One is left: what does not fit takes nothing of it.
    #expect(limiter.admit(1, of: 10, now: 0) == 5)
    #expect(limiter.admit(1, now: 0) == nil)
    #expect(limiter.admit(1, of: 10, now: 4 * Self.second) == 2)
    #expect(limiter.admit(1, of: 10, now: 5 * Self.second) == nil)
  }

  @Test("no limit is none, however much comes")
  func none() {
    var limiter = RateLimiter(Rate(perSecond: 0))
    for _ in 0..<1_000 { #expect(limiter.admit(1, now: 0) == nil) }
    #expect(limiter.partyCount == 0)
  }

  @Test("its memory is bounded: newcomers share one allowance, and who is known keeps his own")
  func bounded() {
    var limiter = RateLimiter(Rate(perSecond: 1), partiesMaximum: 100)
    for party in 0..<100 { #expect(limiter.admit(UInt64(party), now: 0) == nil) }
    for party in 1_000..<1_010 { #expect(limiter.admit(UInt64(party), now: 0) == nil) }
    #expect(limiter.admit(1_010, now: 0) != nil)
    #expect(limiter.admit(5, now: 0) == nil)
    #expect(limiter.partyCount == 100)
    // Everybody's allowance is whole again: all are forgotten.
    #expect(limiter.admit(2_000, now: 20 * Self.second) == nil)
    #expect(limiter.partyCount == 1)
  }
}

@Suite("What waits for Kafka")
struct WaitingTableTests {
  @Test("one is answered once, at its last word, and not after its deadline")
  func words() throws {
    var table = WaitingTable<String>(countMaximum: 10)
    let added = (table.add("batch", words: 3, due: 100), table.add("late", due: 50))
    let batch = try #require(added.0)
    let late = try #require(added.1)
    #expect(table.nextDeadline == 50)
    #expect(table.hear(batch) == nil && table.hear(batch) == nil)
    #expect(table.takeDue(now: 49) == [] && table.takeDue(now: 50) == ["late"])
    #expect(table.hear(late) == nil && table.take(late) == nil)
    #expect(table.hear(batch) == "batch")
    #expect(table.hear(batch) == nil && table.takeDue(now: 1_000) == [] && table.count == 0)
  }

  @Test("no more wait than may, and answered ones leave no trace however far their deadlines are")
  func bounded() {
    var table = WaitingTable<Int>(countMaximum: 3)
    for number in 0..<3 { #expect(table.add(number, due: 1) != nil) }
    #expect(table.add(3, due: 1) == nil)
    #expect(Set(table.takeAll()) == [0, 1, 2])
    var queue = DeadlineQueue()
    for number in 0..<10_000 {
      if let id = table.add(number, due: 1_000_000 - Int64(number)) { #expect(table.take(id) == number) }
      queue.add(UInt64(number), due: Int64(number * 7_919 % 10_007))
    }
    #expect(table.queueCount <= 1_001)
    let times: [UInt64] = queue.takeDue(now: .max).map { $0 * 7_919 % 10_007 }
    #expect(Set(times).count == 10_000 && times == times.sorted())
  }
}
