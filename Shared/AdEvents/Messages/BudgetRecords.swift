package import AdBasics

/// What ad selection says on `ads.usage`.
package enum UsageRecord: Hashable, Sendable {
  /// Wants an allotment. Needs no sequence: each ordinal is granted once.
  case ask(AllotmentAsk)
  /// An allotment is closed. Has a sequence.
  case report(sequence: Int64, AllotmentReport)
  /// Says how many reports there are, so that one that was lost is missed even if none follows.
  case watermark(Watermark)
}

package struct AllotmentAsk: Hashable, Sendable {
  package var campaign: CampaignID
  package var advertiser: AdvertiserID
  /// Days since 1970-01-01 in the advertiser's time zone.
  package var budgetDay: Int32
  /// Counts the allotments of (partition, campaign, budget day), from 1.
  package var ordinal: Int64
  /// What the partition used of this campaign in the last 60 s.
  package var usedLastMinute: Nanos
  /// One ad's full price: impression and click.
  package var fullPrice: Nanos
  /// The click's part of it.
  package var clickPrice: Nanos
  package var currency: Currency

  package init(
    campaign: CampaignID, advertiser: AdvertiserID, budgetDay: Int32, ordinal: Int64, usedLastMinute: Nanos,
    fullPrice: Nanos, clickPrice: Nanos, currency: Currency
  ) {
    self.campaign = campaign
    self.advertiser = advertiser
    self.budgetDay = budgetDay
    self.ordinal = ordinal
    self.usedLastMinute = usedLastMinute
    self.fullPrice = fullPrice
    self.clickPrice = clickPrice
    self.currency = currency
  }
}

package struct AllotmentReport: Hashable, Sendable {
  package var allotment: UInt64
  /// What the ads sold from it have set aside: their impressions' prices, and what was reserved for their clicks.
  package var used: Nanos
  /// The clicks' part of it.
  package var usedForClicks: Nanos
  package var closedAt: Timestamp

  package init(allotment: UInt64, used: Nanos, usedForClicks: Nanos, closedAt: Timestamp) {
    self.allotment = allotment
    self.used = used
    self.usedForClicks = usedForClicks
    self.closedAt = closedAt
  }
}

/// What billing says on `ads.budgets`.
package enum BudgetRecord: Hashable, Sendable {
  /// A piece of budget. Has a sequence.
  case grant(sequence: Int64, AllotmentGrant)
  /// An ask is not granted now. Needs no sequence: whoever misses it asks again in any case.
  case refusal(AllotmentRefusal)
  /// Says how many grants there are, so that one that was lost is missed even if none follows.
  case watermark(Watermark)
}

/// There is too little budget for an ask now, or nothing is served from it at this time.
package struct AllotmentRefusal: Hashable, Sendable {
  /// How long whoever asked may be told to wait, in milliseconds.
  package static let waitMilliseconds: ClosedRange<Int64> = 1...60_000

  package var campaign: CampaignID
  package var budgetDay: Int32
  package var ordinal: Int64
  /// How long to wait before asking again, in milliseconds: a span, so that no two clocks need agree.
  package var waitMilliseconds: Int64

  package init(campaign: CampaignID, budgetDay: Int32, ordinal: Int64, waitMilliseconds: Int64) {
    self.campaign = campaign
    self.budgetDay = budgetDay
    self.ordinal = ordinal
    self.waitMilliseconds = waitMilliseconds
  }
}

/// A piece of budget that one partition may use.
package struct AllotmentGrant: Hashable, Sendable {
  package var allotment: UInt64
  package var ordinal: Int64
  package var campaign: CampaignID
  package var budgetDay: Int32
  package var amount: Nanos
  package var serveUntil: Timestamp
  /// What each ad sold from it sets aside for its click.
  package var clickRates: ClickRateBounds

  package init(
    allotment: UInt64, ordinal: Int64, campaign: CampaignID, budgetDay: Int32, amount: Nanos, serveUntil: Timestamp,
    clickRates: ClickRateBounds
  ) {
    self.allotment = allotment
    self.ordinal = ordinal
    self.campaign = campaign
    self.budgetDay = budgetDay
    self.amount = amount
    self.serveUntil = serveUntil
    self.clickRates = clickRates
  }
}

/// What the console says on `ads.catalog`.
package enum CatalogMessage: Hashable, Sendable {
  /// A record, whole, at its version. The highest version wins.
  case record(CatalogRecord, version: Int64)
  /// The record is deleted at this version.
  case deleted(key: String, version: Int64)
  /// How many records (deleted ones included) there are, and the sum of their versions; whether paid ads are stopped; and
  /// the number of the last change that it tells of, 0 where nobody says.
  case heartbeat(records: Int64, versionSum: Int64, at: Timestamp, stop: PaidAdsStop? = nil, change: Int64 = 0)
}

/// Why no paid ads are to be served: the billing circuit breaker is open. Numbered and public: a number never changes
/// meaning, and the lowest one that holds is told.
package enum PaidAdsStop: UInt8, CaseIterable, Sendable {
  /// Accounts that must agree differ (I6, I7).
  case difference = 1
  /// What is decided or charged is too far behind.
  case lag = 2
  /// Clocks of the network differ too much.
  case clockError = 3
  /// Nobody could compare the accounts for too long.
  case reconciliationStale = 4
  /// A reason of a newer console. Never written.
  case unknown = 255
}

/// A rejected record, for `ads.rejected`.
package struct RejectedEvent: Hashable, Sendable {
  package var reason: RejectionReason
  package var detail: String
  package var topic: String
  package var partition: Int32
  package var offset: Int64
  package var service: String
  package var arrival: Timestamp
  /// The original bytes, capped.
  package var value: [UInt8]
  /// The original length in bytes; -1 for a null value.
  package var valueLength: Int64
  /// SHA-256 of the whole original value.
  package var valueHash: [UInt8]

  package init(
    reason: RejectionReason, detail: String, topic: String, partition: Int32, offset: Int64, service: String,
    arrival: Timestamp, value: [UInt8], valueLength: Int64, valueHash: [UInt8]
  ) {
    self.reason = reason
    self.detail = detail
    self.topic = topic
    self.partition = partition
    self.offset = offset
    self.service = service
    self.arrival = arrival
    self.value = value
    self.valueLength = valueLength
    self.valueHash = valueHash
  }
}
