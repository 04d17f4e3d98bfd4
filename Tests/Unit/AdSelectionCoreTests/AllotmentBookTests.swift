import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("The allotments of a partition")
struct AllotmentBookTests {
  private let campaign: CampaignID
  private let want: AllotmentWant
  private let price: AdPrice

  init() throws {
    campaign = try #require(CampaignID("summer"))
    want = AllotmentWant(
      campaign: campaign, advertiser: try #require(AdvertiserID("acme")), currency: try #require(Currency("USD")),
      budgetDay: Samples.budgetDay, fullPrice: Nanos(510), clickPrice: Nanos(500))
    price = AdPrice(ad: try #require(AdID("summer-1")), impression: Nanos(10), click: Nanos(500))
  }

  private func later(_ milliseconds: Int64) -> Timestamp { Samples.now.advanced(byMilliseconds: milliseconds) }

  private func reserve(_ book: inout AllotmentBook, at now: Timestamp) -> Reservation? {
    book.reserve(campaign: campaign, price: price, now: now)
  }

  @Test("it asks ahead of need, at most once a second, for the next ordinal, with what was used in 60 s")
  func asks() throws {
    var book = AllotmentBook()
    let first = try #require(book.asks(for: AllotmentWants([want]), now: later(0)).first)
    #expect(first.ordinal == 1 && first.usedLastMinute == .zero && first.fullPrice == Nanos(510))
    #expect(first.clickPrice == Nanos(500))
    #expect(book.asks(for: AllotmentWants([want]), now: later(999)).isEmpty)
    #expect(book.asks(for: AllotmentWants([want]), now: later(1_000)).first?.ordinal == 1)

    _ = book.apply(Samples.grant(1, campaign: campaign, amount: 1_100))
    #expect(book.asks(for: AllotmentWants([want]), now: later(2_000)).isEmpty)
    var used: Int64 = 0
    while let reservation = reserve(&book, at: later(2_500)) { used += reservation.amount.value }
    let second = try #require(book.asks(for: AllotmentWants([want]), now: later(3_000)).first)
    #expect(second.ordinal == 2 && second.usedLastMinute == Nanos(used) && used > 0)
    #expect(book.asks(for: AllotmentWants([want]), now: later(70_000)).first?.usedLastMinute == .zero)
  }

  @Test("after a refusal it asks again when it was told to, or for what comes after a grant")
  func asksAfterRefusal() throws {
    var book = AllotmentBook()
    let wants = AllotmentWants([want])
    #expect(book.asks(for: wants, now: later(0)).count == 1)
    func refusal(_ ordinal: Int64, day: Int32 = 0) -> AllotmentRefusal {
      AllotmentRefusal(
        campaign: campaign, budgetDay: want.budgetDay + day, ordinal: ordinal, waitMilliseconds: 8_000)
    }
    // Not of what was asked for.
    book.apply(refusal(2), now: later(100))
    book.apply(refusal(1, day: 1), now: later(100))
    #expect(book.isAskDue(for: wants, now: later(1_000)))
    book.apply(refusal(1), now: later(1_000))
    #expect(!book.isAskDue(for: wants, now: later(8_999)))
    #expect(book.asks(for: wants, now: later(8_999)).isEmpty)
    #expect(book.asks(for: wants, now: later(9_000)).map(\.ordinal) == [1])
    book.apply(refusal(1), now: later(9_100))
    #expect(book.asks(for: wants, now: later(11_000)).isEmpty)
    _ = book.apply(Samples.grant(1, campaign: campaign, amount: 1))
    #expect(book.asks(for: wants, now: later(11_000)).map(\.ordinal) == [2])
  }

  @Test("a refusal that is written again and again holds an ask up once, and keeps no grant away")
  func replayedRefusal() throws {
    var book = AllotmentBook()
    let wants = AllotmentWants([want])
    let refusal = AllotmentRefusal(
      campaign: campaign, budgetDay: want.budgetDay, ordinal: 1, waitMilliseconds: 16_000)
    // Nothing was asked for, as after a restart.
    book.apply(refusal, now: later(0))
    #expect(book.asks(for: wants, now: later(0)).count == 1)
    for milliseconds in stride(from: 0, through: 15_900, by: 100) {
      book.apply(refusal, now: later(Int64(milliseconds)))
    }
    #expect(book.asks(for: wants, now: later(16_000)).map(\.ordinal) == [1])
    for _ in 0..<3 { book.apply(refusal, now: later(16_001)) }
    guard case .opened = book.apply(Samples.grant(1, campaign: campaign, amount: 1)) else {
      Issue.record("not opened")
      return
    }
    book.apply(refusal, now: later(16_002))
    #expect(book.asks(for: wants, now: later(17_000)).map(\.ordinal) == [2])
  }

  @Test("it asks again before the last open allotment ends")
  func asksBeforeTheEnd() {
    var book = AllotmentBook()
    _ = book.apply(Samples.grant(1, campaign: campaign, lasting: 60_000))
    #expect(book.asks(for: AllotmentWants([want]), now: later(50_000)).isEmpty)
    #expect(book.asks(for: AllotmentWants([want]), now: later(57_000)).count == 1)
  }

  @Test("an ordinal is granted once, also after a restart")
  func ordinalsCountOnce() throws {
    var book = AllotmentBook()
    guard case .opened(let row) = book.apply(Samples.grant(1, campaign: campaign)) else {
      Issue.record("not opened")
      return
    }
    #expect(book.apply(Samples.grant(1, campaign: campaign)) == .known)
    var restored = AllotmentBook(restoring: [row])
    #expect(restored.openRows == [row])
    #expect(restored.apply(Samples.grant(9, campaign: campaign, ordinal: 1)) == .known)
    #expect(AllotmentBook.report(of: row) == nil)
  }

  @Test("a grant without an amount or an ordinal is refused", arguments: [(0, 1), (-5, 1), (5, 0)] as [(Int64, Int64)])
  func invalidGrants(amount: Int64, ordinal: Int64) {
    var book = AllotmentBook()
    #expect(book.apply(Samples.grant(1, campaign: campaign, ordinal: ordinal, amount: amount)) == .invalid)
    #expect(book.openRows.isEmpty)
  }

  @Test("from its serve-until an allotment is not used, and is closed once with what was used")
  func closes() throws {
    var book = AllotmentBook()
    _ = book.apply(Samples.grant(1, campaign: campaign, lasting: 5_000))
    let reservation = try #require(reserve(&book, at: later(4_999)))
    #expect(reserve(&book, at: later(5_000)) == nil)
    #expect(book.close(now: later(4_999)).isEmpty)
    let row = try #require(book.close(now: later(5_000)).first)
    #expect(
      AllotmentBook.report(of: row)
        == AllotmentReport(
          allotment: 1, used: reservation.amount, usedForClicks: Nanos(reservation.amount.value - 10),
          closedAt: later(5_000)))
    #expect(book.close(now: later(9_000)).isEmpty)
    #expect(reserve(&book, at: later(1_000)) == nil)
    #expect(AllotmentBook(restoring: [row]).openRows.isEmpty)
  }

  @Test("a grant that comes after its serve-until is closed unused")
  func lateGrant() {
    var book = AllotmentBook()
    _ = book.apply(Samples.grant(1, campaign: campaign, lasting: -1))
    #expect(reserve(&book, at: later(0)) == nil)
    #expect(book.close(now: later(0)).map(\.used) == [.zero])
  }

  @Test("B4: an ad sets aside its impression's price, and of its click's what the allotment was granted with")
  func reservesForClicks() throws {
    let other = try #require(AdID("summer-2"))
    let rates = ClickRateBounds(others: 43_590, ads: [price.ad: 240_001])
    var book = AllotmentBook()
    _ = book.apply(Samples.grant(1, campaign: campaign, rates: rates))
    let own = reserve(&book, at: later(0))
    let first = try #require(own)
    // A quarter of 500, rounded up.
    #expect(first.amount == Nanos(10 + 121))
    let cheap = AdPrice(ad: other, impression: Nanos(10), click: Nanos(500))
    let reservation = book.reserve(campaign: campaign, price: cheap, now: later(0))
    let second = try #require(reservation)
    #expect(second.amount == Nanos(10 + 22))
    #expect(second.usedAfterwards == AllotmentUse(total: Nanos(163), forClicks: Nanos(143)))
    #expect(book.openRows.map(\.usedForClicks) == [Nanos(143)])
    let most = AdPrice(ad: other, impression: Nanos(.max), click: Nanos(.max))
    #expect(!book.canReserve(campaign: campaign, price: most, now: later(0)))
    let negative = AdPrice(ad: other, impression: Nanos(-1), click: .zero)
    #expect(!book.canReserve(campaign: campaign, price: negative, now: later(0)))
  }

  @Test("nothing is ever used beyond what was granted, under any operations", arguments: Array(1...20) as [UInt64])
  func neverMoreThanGranted(seed: UInt64) throws {
    var random = SeededChance(seed: seed)
    var book = AllotmentBook()
    var now = Samples.now
    var granted: [UInt64: Int64] = [:]
    var used: [UInt64: Int64] = [:]
    var ended: [UInt64: Timestamp] = [:]
    var closed: [UInt64: Int64] = [:]
    for step in 0..<2_000 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0:
        for ask in book.asks(for: AllotmentWants([want]), now: now) {
          let amount = max(ask.usedLastMinute.value, Int64.random(in: 510...5_000, using: &random))
          let id = UInt64(granted.count + 1)
          let lasting = now.milliseconds(since: Samples.now) + Int64.random(in: -100...8_000, using: &random)
          let grant = Samples.grant(id, campaign: campaign, ordinal: ask.ordinal, amount: amount, lasting: lasting)
          let outcome = book.apply(grant)
          guard case .opened = outcome else { continue }
          #expect(book.apply(grant) == .known)
          granted[id] = amount
          ended[id] = grant.serveUntil
        }
      case 1: now = now.advanced(byMilliseconds: Int64.random(in: 1...2_000, using: &random))
      case 2:
        for row in book.close(now: now) {
          #expect(closed.updateValue(row.used.value, forKey: row.allotment) == nil)
          #expect(row.serveUntil <= now)
        }
      case 3 where step % 7 == 0:
        book = AllotmentBook(restoring: book.openRows + Self.memory(of: granted, closed, campaign))
      default:
        guard let reservation = reserve(&book, at: now) else { continue }
        #expect(closed[reservation.allotment] == nil)
        #expect(now < ended[reservation.allotment] ?? now)
        used[reservation.allotment, default: 0] += reservation.amount.value
        #expect(reservation.usedAfterwards.total.value == used[reservation.allotment])
      }
    }
    #expect(!used.isEmpty && !closed.isEmpty)
    for (allotment, amount) in used { #expect(amount <= granted[allotment] ?? 0) }
    for (allotment, amount) in closed { #expect(amount == used[allotment] ?? 0) }
  }

  /// The rows of closed allotments, as a table would hold them: allotments here are numbered like their ordinals.
  private static func memory(
    of granted: [UInt64: Int64], _ closed: [UInt64: Int64], _ campaign: CampaignID
  ) -> [AllotmentRow] {
    closed.map { id, used in
      AllotmentRow(
        allotment: id, ordinal: Int64(id), campaign: campaign, budgetDay: Samples.budgetDay,
        amount: Nanos(granted[id] ?? 0), used: Nanos(used), serveUntil: Samples.now,
        clickRates: .full, closedAt: Samples.now)
    }
  }
}
