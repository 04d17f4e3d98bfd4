package import AdCore

/// An allotment that has not ended, as its partition keeps it in memory: the values of its row.
///
/// What it may pay is kept in two parts, so that clicks never use what is set aside for impressions (B4). Clicks are paid
/// from ``clickReserve``: while the allotment is open that is what the ads seen so far set aside for their clicks, each
/// by the bounds that the allotment was granted with; once it is closed it is what ad selection reported. The rest is for
/// impressions, each of which was set aside in full when its ad was sold, so that it always fits.
package struct OpenAllotment: Hashable, Sendable {
  package var id: UInt64
  package var budget: BudgetKey
  /// Nanos; at least what is charged.
  package var amount: Int64
  /// Nanos, clicks included.
  package var charged: Int64
  /// What is set aside for clicks as far as is known, in nanos; at least ``clicksCharged``.
  package var clickReserve: Int64
  /// What was charged for clicks, in nanos.
  package var clicksCharged: Int64
  /// What each ad sold from it sets aside for its click.
  package var clickRates: ClickRateBounds
  package var serveUntil: Timestamp
  /// Ad selection has reported what it used; only charges come now.
  package var isClosed: Bool

  package init(
    id: UInt64, budget: BudgetKey, amount: Int64, charged: Int64 = 0, clickReserve: Int64 = 0,
    clicksCharged: Int64 = 0, clickRates: ClickRateBounds, serveUntil: Timestamp, isClosed: Bool = false
  ) {
    self.id = id
    self.budget = budget
    self.amount = amount
    self.charged = charged
    self.clickReserve = clickReserve
    self.clicksCharged = clicksCharged
    self.clickRates = clickRates
    self.serveUntil = serveUntil
    self.isClosed = isClosed
  }

  /// What can still be charged for clicks, in nanos.
  var clickRoom: Int64 { min(clickReserve - clicksCharged, amount - charged) }

  /// Charges an impression whole, or not at all: nil when it does not fit. What its ad set aside for its click is known
  /// with it.
  mutating func charge(impression terms: ServedTerms) -> AllotmentCharge? {
    let price = terms.impressionPrice.value
    guard price >= 0, price <= amount - charged else { return nil }
    var charge = AllotmentCharge(amount: price)
    if !isClosed {
      // What prices or bounds that are not the allotment's say is held to what there is.
      let reserve = clickRates.reserve(for: terms.ad, clickPrice: terms.clickPrice).value
      charge.reserve = max(0, min(reserve, amount - charged - price - clickRoom))
    }
    charged += price
    clickReserve += charge.reserve
    return charge
  }

  /// Charges a click whole, or not at all: nil when it does not fit what is set aside for clicks.
  mutating func charge(click price: Nanos) -> AllotmentCharge? {
    guard price.value >= 0, price.value <= clickRoom else { return nil }
    charged += price.value
    clicksCharged += price.value
    return AllotmentCharge(amount: price.value, forClicks: price.value)
  }

  /// Lowers the amount to what was used or is charged already; the rest is free again.
  mutating func close(used: Nanos, forClicks: Nanos) {
    isClosed = true
    amount = min(amount, max(used.value, charged))
    clickReserve = max(min(forClicks.value, amount), clicksCharged)
  }
}

/// What events change of an allotment's row, in nanos.
package struct AllotmentCharge: Hashable, Sendable {
  package var amount: Int64 = 0
  /// The clicks' part of ``amount``.
  package var forClicks: Int64 = 0
  /// By how much more is set aside for clicks.
  package var reserve: Int64 = 0

  static func += (left: inout AllotmentCharge, right: AllotmentCharge) {
    // No more than the allotment's amount in all, so none of it overflows.
    left.amount += right.amount
    left.forClicks += right.forClicks
    left.reserve += right.reserve
  }
}

/// How allotments are numbered: the partition, then the grant's sequence on `ads.budgets`.
package enum AllotmentID {
  private static let sequenceBits: UInt64 = 40

  package static func make(partition: Int32, sequence: Int64) -> UInt64 {
    UInt64(UInt32(bitPattern: partition)) << sequenceBits | UInt64(bitPattern: sequence)
  }

  /// Which partition it was granted to.
  package static func partition(of id: UInt64) -> UInt64 { id >> sequenceBits }

  /// The sequence of its grant.
  package static func sequence(of id: UInt64) -> Int64 { Int64(id & (1 << sequenceBits - 1)) }
}
