import AdCore
import Pipeline
import Testing

@testable import ClickTrackingCore

@Suite("Ads on which clicks wait, remembered within a bound")
struct UnseenServesTests {
  private func id(_ number: Int) -> ServeID {
    ServeID(timestamp: Samples.now.advanced(byMilliseconds: Int64(number)), randomHigh: 0, randomLow: 0)
  }

  private func serve(_ number: Int) -> UnseenServe {
    UnseenServe(serveID: id(number), expiresAt: Samples.now.advanced(byMilliseconds: 1_000 + Int64(number)))
  }

  /// What the tables answer: of `stored` the next ones, all unseen.
  private func page(_ query: UnseenPage.Query, of stored: some Sequence<Int>) -> UnseenPage {
    let found = stored.map(serve).filter { $0 > query.after }.prefix(query.count)
    return UnseenPage(
      answering: query, serves: Array(found), last: found.count < query.count ? nil : found.last)
  }

  /// One that knows all of none.
  private func empty(_ bound: SharedBound) throws -> UnseenServes {
    var serves = UnseenServes(quota: bound.quota())
    serves.readOn(page(try #require(serves.nextPage), of: []))
    return serves
  }

  /// Those that it remembers, not those that it would ask for.
  private func known(_ serves: UnseenServes) -> [ServeID] {
    (0...30).filter { serves.mayWait(serve($0)) && !serves.isBeyond(serve($0)) }.map(id)
  }

  @Test("It begins by asking for every ad, and for none that does not wait when it has read them")
  func beginning() throws {
    var serves = UnseenServes(quota: SharedBound(100).quota())
    #expect(serves.mayWait(serve(1)) && serves.mayWait(serve(99)))
    serves.readOn(page(try #require(serves.nextPage), of: [3, 5]))
    #expect((1...6).filter { serves.mayWait(serve($0)) } == [3, 5])
    #expect(serves.nextPage == nil && serves.earliestExpiry == serve(3).expiresAt)
  }

  @Test("Of more than its part it keeps the oldest and asks for the others, of which it reads on when half is free")
  func bounded() throws {
    var serves = try empty(SharedBound(8))
    for number in (1...20).reversed() {
      serves.park(serve(number))
      #expect(known(serves).count <= 8)
    }
    let kept = known(serves).count
    #expect(known(serves) == (1...kept).map(id), "the oldest")
    #expect((1...20).allSatisfy { serves.mayWait(serve($0)) }, "none is passed over")
    #expect(!serves.mayWait(serve(0)) && serves.mayWait(serve(21)))
    var stored = Set(1...20)
    for number in 1... {
      if let query = serves.nextPage { serves.readOn(page(query, of: stored.sorted())) }
      #expect(known(serves).count <= 8)
      guard let oldest = stored.min() else { break }
      #expect(oldest == number && serves.mayWait(serve(oldest)))
      serves.release(id(oldest))
      stored.remove(oldest)
    }
    #expect(!serves.mayWait(serve(21)) && serves.nextPage == nil, "all are known again")
  }

  @Test("Who shares the bound leaves room for others; what is read while it does is passed over, not taken for all")
  func shared() throws {
    let bound = SharedBound(16)
    var first = UnseenServes(quota: bound.quota())
    // 12 of them, then 4 are left.
    first.readOn(page(try #require(first.nextPage), of: 1...20))
    for number in 1...6 { first.release(id(number)) }
    let query = try #require(first.nextPage)
    let others = (0..<3).map { _ in UnseenServes(quota: bound.quota()) }
    #expect(first.isOverPart)
    first.begin()
    #expect(known(first).count <= bound.maximum / 4)
    first.readOn(page(query, of: 7...20))
    #expect((7...20).allSatisfy { first.mayWait(serve($0)) }, "those in between would not be asked for")
    withExtendedLifetime(others) {}
  }

  @Test("After a commit that failed it knows again what that released")
  func reverted() throws {
    var serves = try empty(SharedBound(3))
    for number in 1...3 { serves.park(serve(number)) }
    serves.begin()
    serves.release(id(1))
    serves.updateEarliestExpiry()
    serves.release(id(3))
    // Beyond the bound once the first ones wait again.
    serves.park(serve(4))
    serves.park(serve(5))
    serves.revert()
    #expect((1...5).allSatisfy { serves.mayWait(serve($0)) })
    #expect(known(serves).first == id(1) && known(serves).count <= 3)
    #expect(serves.earliestExpiry == serve(1).expiresAt)
    serves.begin()
    serves.revert()
    #expect(known(serves).first == id(1))
  }
}
