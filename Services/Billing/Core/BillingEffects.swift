package import AdCore
internal import AdEvents

/// What a batch of billing writes.
package struct BillingEffects: Sendable {
  /// One for each live event, those that draw included.
  package var charges: [Charge] = []
  package var allotmentCharges: [UInt64: AllotmentCharge] = [:]
  package var closes: [Close] = []
  package var ends: [End] = []
  /// Events that draw on free budget: indices into ``charges``, in order.
  package var draws: [Draw] = []
  package var asks: [Ask] = []
  /// Budgets for which the partition's events wait, and are tried again; besides those of all that is above.
  package var retried: Set<BudgetKey> = []
  /// What was seen and clicked since that was stored last, for the click rates of later grants; empty in most batches.
  package var clickCounts: [CountedAd: ClickCount] = [:]
  package var suspended: [Suspended] = []
  /// Events beyond a cap of their app's hour.
  package var held: [Held] = []
  /// What apps' hours gain, what is held included.
  package var appHours: [AppHour: AppHourCount] = [:]
  /// Of what is charged already; what draws come to, the database adds.
  package var journal = Journal()
  package var settings: BillingSettings
  package var partitionCount: Int32

  package init(settings: BillingSettings, partitionCount: Int32) {
    self.settings = settings
    self.partitionCount = partitionCount
  }

  /// An event and its fate.
  package struct Charge: Hashable, Sendable {
    package var event: AcceptedEvent
    package var fate: ChargeFate
    /// What the advertiser pays is the sum of both; nil where nobody pays, or the database decides.
    package var parts: RevenueShare.Parts?
    /// The allotment that pays; nil where none does.
    package var payer: UInt64?
  }

  /// What click rates are counted by.
  package struct CountedAd: Hashable, Sendable {
    package var campaign: CampaignID
    package var ad: AdID
  }

  /// An event that no allotment can pay.
  package struct Draw: Hashable, Sendable {
    /// Which of the charges.
    package var charge: Int
    package var budget: BudgetKey
    /// It came after its allotment's end: without free budget nobody pays and nobody is paid.
    package var isLate: Bool
  }

  /// An allotment that is sold from no more, and what was used of it.
  package struct Close: Hashable, Sendable {
    package var allotment: UInt64
    package var used: Nanos
    package var usedForClicks: Nanos
    package var closedAt: Timestamp
    package var budget: BudgetKey
  }

  /// An allotment for which nothing can come any more.
  package struct End: Hashable, Sendable {
    package var allotment: UInt64
    package var budget: BudgetKey
  }

  /// An ask that may be granted.
  package struct Ask: Hashable, Sendable {
    package var budget: BudgetKey
    package var ordinal: Int64
    package var fullPrice: Nanos
    package var clickPrice: Nanos
    package var usedLastMinute: Nanos
    /// The end of the budget day or of the flight: nothing is served beyond.
    package var endsAt: Timestamp
    /// What each ad is to set aside for its click, while the budget is not scarce.
    package var clickRates: ClickRateBounds
  }

  /// An event that is not billed before a person has looked at it (B8).
  package struct Held: Hashable, Sendable {
    package var event: AcceptedEvent
    package var reason: HoldReason
  }

  /// An event that could not be charged: the database refused it, or its terms cannot be.
  package struct Suspended: Hashable, Sendable {
    package var event: AcceptedEvent
    package var sequence: Int64
    /// Why, for the person who settles it.
    package var reason: String
  }
}

extension BillingEffects {
  /// All budgets that the batch touches.
  package var budgets: Set<BudgetKey> {
    retried.union(closes.map(\.budget)).union(ends.map(\.budget)).union(draws.map(\.budget)).union(asks.map(\.budget))
  }
}
