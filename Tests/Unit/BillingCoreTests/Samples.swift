import AdCore
import AdEvents
import BillingCore
import TestValues
import Testing

@testable import Pipeline

/// What the tests of billing's decisions begin with.
struct Samples {
  /// 2026-01-15T12:00:00Z.
  static let now = Timestamp(milliseconds: 1_768_478_400_000)
  static let day: Int32 = 20_468
  static let cpm10 = Nanos(10_000_000)
  static let click2 = Nanos(2_000_000_000)

  let budget: BudgetKey
  var terms: ServedTerms

  init() throws {
    budget = BudgetKey(
      advertiser: try #require(AdvertiserID("acme")), currency: try #require(Currency("USD")),
      campaign: try #require(CampaignID("summer")), day: Samples.day)
    terms = .sample(serve: 0, partition: 3, issuedAt: Samples.now)
    (terms.campaign, terms.impressionPrice, terms.clickPrice) = (budget.campaign, Samples.cpm10, Samples.click2)
    (terms.allotment, terms.clientHash) = (AllotmentID.make(partition: 3, sequence: 1), 7)
  }

  /// An allotment of the sample's budget, by the sequence of its grant.
  func allotment(
    _ sequence: Int64 = 1, amount: Int64, charged: Int64 = 0, clickReserve: Int64? = nil, isClosed: Bool = false
  ) -> OpenAllotment {
    OpenAllotment(
      id: AllotmentID.make(partition: 3, sequence: sequence), budget: budget, amount: amount, charged: charged,
      clickReserve: clickReserve ?? amount - charged, clickRates: .full, serveUntil: Samples.now, isClosed: isClosed)
  }

  func decider(_ allotments: OpenAllotment...) -> BillingDecider {
    BillingDecider(settings: BillingSettings(), open: allotments, waiting: [], hours: StoredAppHours(now: Samples.now))
  }

  func impression(_ change: (inout ServedTerms) -> Void = { _ in }) -> BillingInput {
    var terms = terms
    change(&terms)
    return .event(
      AcceptedEvent(AcceptedImpression(terms: terms, eventTime: Samples.now, arrival: Samples.now)))
  }

  func click(_ verdict: ClickVerdict = .billable, _ change: (inout ServedTerms) -> Void = { _ in }) -> BillingInput {
    var terms = terms
    change(&terms)
    return .event(
      AcceptedEvent(
        AcceptedClick(terms: terms, idHash: 9, eventTime: Samples.now, arrival: Samples.now, verdict: verdict)))
  }

  var allotmentAsk: AllotmentAsk {
    AllotmentAsk(
      campaign: budget.campaign, advertiser: budget.advertiser, budgetDay: Samples.day, ordinal: 1,
      usedLastMinute: .zero, fullPrice: Nanos(2_010_000_000), clickPrice: Samples.click2,
      currency: budget.currency)
  }

  func ask(_ change: (inout AllotmentAsk) -> Void = { _ in }) -> BillingInput {
    var ask = allotmentAsk
    change(&ask)
    return .ask(ask)
  }

  /// How long a message tells whoever asked for the sample's budget to wait.
  func wait(_ message: OutgoingMessage) throws -> Int64 {
    let value = try #require(message.value)
    let record = try value.withUnsafeBytes { try BudgetRecord.read($0, headers: RecordHeaders()) }
    guard case .refusal(let refusal) = record else {
      Issue.record("no refusal: \(record)")
      return 0
    }
    #expect(message.partition == 3 && message.key == Array(budget.campaign.text.utf8))
    #expect(refusal.campaign == budget.campaign)
    return refusal.waitMilliseconds
  }

  func campaign(_ change: (inout CampaignTerms) -> Void = { _ in }) throws -> BillingKnowledge {
    var terms = CampaignTerms(
      advertiser: budget.advertiser, currency: budget.currency,
      calendar: try #require(BudgetCalendar(timeZone: "UTC")),
      flightStart: Samples.now.advanced(byMilliseconds: -1_000),
      flightEnd: Samples.now.advanced(byMilliseconds: 10 * 86_400_000), isPaused: false)
    change(&terms)
    return BillingKnowledge(campaigns: [budget.campaign: terms])
  }
}

extension BillingInput {
  func record(_ number: Int) -> InputRecord<BillingInput> {
    var sequence = RecordSequence.number(Int64(number))
    var input = 0
    switch self {
    case .event(let event): input = event.kind == .impression ? 0 : 1
    case .report: input = 2
    case .ask, .watermark, .rejected: (input, sequence) = (2, .unnumbered)
    }
    return InputRecord(
      input: input, offset: Int64(number), timestamp: 0, arrival: Samples.now, sequence: sequence, event: self,
      contentHash: 0, raw: RawRange(start: 0, keyCount: -1, valueCount: -1, headersCount: 0))
  }
}

extension BillingDecider {
  /// Decides a batch in which nothing is wrong.
  mutating func decide(
    _ events: [BillingInput], knowing knowledge: BillingKnowledge? = nil, nextGrant: Int64 = 10,
    watermarks: (impressions: Timestamp, clicks: Timestamp) = (Samples.now, Timestamp(milliseconds: 0)),
    refusal: String? = nil, now: Timestamp = Samples.now
  ) -> BatchDecision<BillingEffects> {
    let records = events.enumerated().map { $0.element.record($0.offset + 1) }
    return decide(
      records, knowing: knowledge,
      context: .sample(nextGrant: nextGrant, watermarks: watermarks, refusal: refusal, now: now))
  }
}

extension BillingEffects {
  /// What the batch adds to the minutes.
  var revenue: [RevenueMinute: RevenueSums] {
    var counts: [RevenueMinute: RevenueSums] = [:]
    BillingService.count(self, into: &counts)
    return counts
  }
}

extension BatchContext {
  static func sample(
    nextGrant: Int64 = 10,
    watermarks: (impressions: Timestamp, clicks: Timestamp) = (Samples.now, Timestamp(milliseconds: 0)),
    refusal: String? = nil, now: Timestamp = Samples.now
  ) -> BatchContext {
    BatchContext(
      partition: 3, partitionCount: 8, now: now, batchNumber: 1, nextSequences: [nextGrant],
      committedWatermark: Timestamp(milliseconds: 0), watermark: Timestamp(milliseconds: 0),
      consumedWatermarks: [watermarks.impressions, watermarks.clicks, Timestamp(milliseconds: 0)], refusal: refusal,
      isDuplicateSuspected: false)
  }
}
