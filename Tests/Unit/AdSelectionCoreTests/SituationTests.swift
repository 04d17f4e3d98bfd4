import AdCore
import AdEvents
import Testing

@testable import AdSelectionCore

/// What can be wrong with the best ad of a small network, and with it alone.
enum Breach: String, Sendable {
  case suspended, campaignPaused, adPaused, early, late, country, device, image, size, under17, appCategory, segment
  case advertiser, category, keyword, host, noAllotment, withheld

  func apply(to samples: inout Samples) {
    let best = SituationTests.best
    switch self {
    case .suspended: samples.freshness = .withoutHeartbeat
    case .campaignPaused: samples.campaigns[best].isPaused = true
    case .adPaused: samples.ads[best].isPaused = true
    case .early: samples.campaigns[best].flightStart = Samples.now.advanced(byMilliseconds: 1)
    case .late: samples.campaigns[best].flightEnd = Samples.now
    case .country: samples.campaigns[best].targeting.countries = Set([Country("DE")].compactMap(\.self))
    case .device: samples.campaigns[best].targeting.devices = [.pad]
    case .image: samples.ads[best].images[.phoneBannerLandscape] = nil
    case .size: samples.campaigns[best].targeting.sizes = [.phoneBannerPortrait]
    case .under17:
      samples.apps[0].isUnder17 = true
      for index in samples.campaigns.indices where index != best {
        samples.campaigns[index].targeting.allowsUnder17 = true
      }
    case .appCategory: samples.campaigns[best].targeting.appCategories = ["games"]
    case .segment: samples.campaigns[best].targeting.segments = ["sailors"]
    case .advertiser: samples.apps[0].exclusions.advertisers = [samples.advertisers[1].id]
    case .category:
      samples.ads[best].categories = ["dating"]
      samples.apps[0].exclusions.categories = ["dating"]
    case .keyword:
      samples.ads[best].keywords = ["poker"]
      samples.apps[0].exclusions.keywords = ["poker"]
    case .host:
      samples.ads[best].action.destination = "https://www.globex.example/"
      samples.apps[0].exclusions.hosts = ["globex.example"]
    case .withheld:
      samples.standings = [AppStanding(app: samples.apps[0].id, offerPartsPerMillion: 0, stopped: 60, tapped: 100)]
    case .noAllotment: samples.withoutAllotment.insert(samples.campaigns[best].id)
    }
  }
}

/// What is wrong with the best ad, the reason that it counts under, and who wins instead.
struct Situation: Sendable, CustomTestStringConvertible {
  let breaches: [Breach]
  let reason: NoServeReason
  let winner: String

  init(_ breach: Breach, _ reason: NoServeReason, wins winner: String = "summer-1") {
    breaches = [breach]
    self.reason = reason
    self.winner = winner
  }

  init(_ first: Breach, _ second: Breach, _ reason: NoServeReason, wins winner: String = "summer-1") {
    breaches = [first, second]
    self.reason = reason
    self.winner = winner
  }

  var testDescription: String { "\(breaches.map(\.rawValue).joined(separator: " and ")): \(reason)" }

  static let alone = [
    Situation(.suspended, .paidAdsSuspended, wins: "own-1"),
    Situation(.withheld, .paidAdsWithheld, wins: "own-1"),
    Situation(.campaignPaused, .paused),
    Situation(.adPaused, .paused),
    Situation(.early, .notYetStarted),
    Situation(.late, .outsideFlight),
    Situation(.country, .countryNotTargeted),
    Situation(.device, .deviceNotTargeted),
    Situation(.image, .imageMissing),
    Situation(.size, .sizeNotTargeted),
    Situation(.under17, .audienceUnder17),
    Situation(.appCategory, .appCategoryNotTargeted),
    Situation(.segment, .segmentNotTargeted),
    Situation(.advertiser, .advertiserExcluded),
    Situation(.category, .categoryExcluded),
    Situation(.keyword, .keywordExcluded),
    Situation(.host, .hostExcluded),
    Situation(.noAllotment, .noAllotment),
  ]

  static let pairs = [
    Situation(.suspended, .campaignPaused, .paidAdsSuspended, wins: "own-1"),
    Situation(.suspended, .late, .paidAdsSuspended, wins: "own-1"),
    Situation(.suspended, .country, .paidAdsSuspended, wins: "own-1"),
    Situation(.suspended, .host, .paidAdsSuspended, wins: "own-1"),
    Situation(.suspended, .noAllotment, .paidAdsSuspended, wins: "own-1"),
    Situation(.withheld, .suspended, .paidAdsSuspended, wins: "own-1"),
    Situation(.withheld, .campaignPaused, .paidAdsWithheld, wins: "own-1"),
    Situation(.adPaused, .withheld, .paidAdsWithheld, wins: "own-1"),
    Situation(.host, .withheld, .paidAdsWithheld, wins: "own-1"),
    Situation(.withheld, .noAllotment, .paidAdsWithheld, wins: "own-1"),
    Situation(.campaignPaused, .adPaused, .paused),
    Situation(.adPaused, .early, .paused),
    Situation(.late, .campaignPaused, .paused),
    Situation(.adPaused, .country, .paused),
    Situation(.noAllotment, .adPaused, .paused),
    Situation(.early, .late, .notYetStarted),
    Situation(.early, .device, .notYetStarted),
    Situation(.noAllotment, .early, .notYetStarted),
    Situation(.late, .country, .outsideFlight),
    Situation(.late, .under17, .outsideFlight),
    Situation(.host, .late, .outsideFlight),
    Situation(.country, .device, .countryNotTargeted),
    Situation(.segment, .country, .countryNotTargeted),
    Situation(.noAllotment, .country, .countryNotTargeted),
    Situation(.device, .image, .deviceNotTargeted),
    Situation(.size, .device, .deviceNotTargeted),
    Situation(.image, .size, .imageMissing),
    Situation(.under17, .image, .imageMissing),
    Situation(.noAllotment, .image, .imageMissing),
    Situation(.size, .under17, .sizeNotTargeted),
    Situation(.appCategory, .size, .sizeNotTargeted),
    Situation(.under17, .appCategory, .audienceUnder17),
    Situation(.advertiser, .under17, .audienceUnder17),
    Situation(.noAllotment, .under17, .audienceUnder17),
    Situation(.appCategory, .segment, .appCategoryNotTargeted),
    Situation(.category, .appCategory, .appCategoryNotTargeted),
    Situation(.segment, .advertiser, .segmentNotTargeted),
    Situation(.keyword, .segment, .segmentNotTargeted),
    Situation(.noAllotment, .segment, .segmentNotTargeted),
    Situation(.advertiser, .category, .advertiserExcluded),
    Situation(.host, .advertiser, .advertiserExcluded),
    Situation(.category, .keyword, .categoryExcluded),
    Situation(.host, .category, .categoryExcluded),
    Situation(.keyword, .host, .keywordExcluded),
    Situation(.noAllotment, .keyword, .keywordExcluded),
    Situation(.host, .noAllotment, .hostExcluded),
    Situation(.noAllotment, .advertiser, .advertiserExcluded),
    Situation(.noAllotment, .category, .categoryExcluded),
    Situation(.noAllotment, .device, .deviceNotTargeted),
  ]
}

@Suite("Which ad wins")
struct SituationTests {
  /// Of the campaigns and of the ads.
  static let best = 1

  /// A brand ad, a better one of another advertiser, and a house ad.
  private static func network() throws -> Samples {
    var samples = try Samples()
    samples.advertisers.append(samples.advertisers[0])
    samples.advertisers[1].id = try #require(AdvertiserID("globex"))
    try samples.add(campaign: "rich", ad: "rich-1", impressionPrice: 20_000_000)
    samples.campaigns[best].advertiser = samples.advertisers[1].id
    try samples.add(campaign: "own", ad: "own-1", kind: .house)
    return samples
  }

  private static func winner(_ decision: Decision) -> String? {
    guard case .served(let serve) = decision.outcome else { return nil }
    return serve.terms.ad.text
  }

  @Test("the best ad wins unless a rule is against it; of two rules the first in their order counts")
  func bestWins() throws {
    let samples = try Self.network()
    let decision = samples.decide(try samples.request())
    #expect(Self.winner(decision) == "rich-1")
    #expect(decision.explanation.excluded.isEmpty && decision.explanation.outbid == 2)
  }

  @Test("each rule alone, and pairs of them", arguments: Situation.alone + Situation.pairs)
  func breached(_ situation: Situation) throws {
    var samples = try Self.network()
    for breach in situation.breaches { breach.apply(to: &samples) }
    let decision = samples.decide(try samples.request())
    #expect(Self.winner(decision) == situation.winner)
    // Then both paid ads have the one reason, and neither is outbid.
    let isOfAllPaid = [.paidAdsSuspended, .paidAdsWithheld].contains(situation.reason)
    #expect(decision.explanation[situation.reason] == (isOfAllPaid ? 2 : 1))
    #expect(decision.explanation.excluded.count == 1)
    #expect(decision.explanation.outbid == (isOfAllPaid ? 0 : 1))
    #expect(decision.explanation.total == 3)
  }

  /// How what the campaigns are worth and what they can pay decides: amounts of the allotments of summer and rich (nil for
  /// none), the winner, how many have no allotment, how many are outbid.
  private static let budgets: [(summer: Int64?, rich: Int64?, winner: String, without: Int, outbid: Int)] = [
    (1_000_000_000, 1_000_000_000, "rich-1", 0, 2),
    (1_000_000_000, nil, "summer-1", 1, 1),
    (nil, 1_000_000_000, "rich-1", 0, 2),
    (nil, nil, "own-1", 2, 0),
    // Selling rich sets aside 20,000,000 and 4.359 % of the click's 500,000,000, rounded up; summer half the impression.
    (1_000_000_000, 41_795_000, "rich-1", 0, 2),
    (1_000_000_000, 41_794_999, "summer-1", 1, 1),
    (31_795_000, 1, "summer-1", 1, 1),
    (31_794_999, 1, "own-1", 2, 0),
  ]

  @Test("an ad is sold if and only if an allotment has room for it", arguments: 0..<8)
  func budgets(row: Int) throws {
    let due = Self.budgets[row]
    let samples = try Self.network()
    var state = PartitionState()
    for (index, amount) in [due.summer, due.rich].enumerated() {
      guard let amount else { continue }
      let grant = Samples.grant(UInt64(index + 1), campaign: samples.campaigns[index].id, amount: amount)
      _ = state.allotments.apply(grant)
    }
    let decision = RequestDecision.decide(try samples.request(), state: &state, context: samples.context())
    #expect(Self.winner(decision) == due.winner)
    #expect(decision.explanation[.noAllotment] == due.without && decision.explanation.outbid == due.outbid)
  }
}
