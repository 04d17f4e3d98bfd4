package import AdCore

/// An allotment as ad selection keeps it: the values of its row. `used ≤ amount` always.
package struct AllotmentRow: Hashable, Sendable {
  package var allotment: UInt64
  package var ordinal: Int64
  package var campaign: CampaignID
  /// Days since 1970-01-01 in the advertiser's time zone.
  package var budgetDay: Int32
  package var amount: Nanos
  /// What the ads sold from it have set aside.
  package var used: Nanos
  /// The clicks' part of it.
  package var usedForClicks: Nanos
  /// The moment from which it is not used any more.
  package var serveUntil: Timestamp
  /// What each ad sets aside for its click.
  package var clickRates: ClickRateBounds
  /// When it was closed; nil while it is open. A closed one is never used.
  package var closedAt: Timestamp?

  package init(
    allotment: UInt64, ordinal: Int64, campaign: CampaignID, budgetDay: Int32, amount: Nanos, used: Nanos = .zero,
    usedForClicks: Nanos = .zero, serveUntil: Timestamp, clickRates: ClickRateBounds, closedAt: Timestamp? = nil
  ) {
    self.allotment = allotment
    self.ordinal = ordinal
    self.campaign = campaign
    self.budgetDay = budgetDay
    self.amount = amount
    self.used = used
    self.usedForClicks = usedForClicks
    self.serveUntil = serveUntil
    self.clickRates = clickRates
    self.closedAt = closedAt
  }

  /// What can still be used, in nanos.
  var remaining: Int64 { amount.value - used.value }

  func isOpen(at now: Timestamp) -> Bool { closedAt == nil && now < serveUntil }

  /// Whether so much is left as selling an ad sets aside.
  func hasRoom(for price: AdPrice) -> Bool {
    // With the full price left nothing need be multiplied.
    if let full = price.full, remaining >= full.value { return true }
    return price.reserved(by: clickRates).map { remaining >= $0.total.value } ?? false
  }
}

extension [AllotmentRow] {
  /// Where the first is that has room for an ad.
  func firstIndex(withRoomFor price: AdPrice, now: Timestamp) -> Int? {
    // By index: a row that is looked at as a value is copied.
    indices.first { self[$0].isOpen(at: now) && self[$0].hasRoom(for: price) }
  }

  /// The most that selling an ad sets aside, of whichever allotment, in nanos.
  func mostReserved(for price: AdPrice) -> Int64 {
    indices.reduce(0) { Swift.max($0, price.reserved(by: self[$1].clickRates)?.total.value ?? .max) }
  }
}

/// What taking a grant did.
package enum GrantOutcome: Hashable, Sendable {
  /// It is open, or, if it came after its serve-until, waits to be closed unused. To be stored.
  case opened(AllotmentRow)
  /// Its ordinal was granted before: nothing changes.
  case known
  /// Not a grant billing can have made (an amount or ordinal below 1): nothing changes.
  case invalid
}

/// What an ad was sold from. To be stored with the decision, in the same transaction.
package struct Reservation: Hashable, Sendable {
  package var allotment: UInt64
  package var budgetDay: Int32
  /// The full impression price and the bound of what its click costs.
  package var amount: Nanos
  /// What the allotment has used with this ad.
  package var usedAfterwards: AllotmentUse
}

/// What an allotment has used.
package struct AllotmentUse: Hashable, Sendable {
  /// What the ads sold from it have set aside.
  package var total: Nanos
  /// The clicks' part of it.
  package var forClicks: Nanos

  package init(total: Nanos, forClicks: Nanos) {
    self.total = total
    self.forClicks = forClicks
  }
}
