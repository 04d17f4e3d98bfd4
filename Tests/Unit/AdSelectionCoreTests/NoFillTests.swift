import AdCore
import AdEvents
import Testing

@testable import AdSelectionCore

/// A network of three ads in which a request finds nothing, and why.
struct NoFill: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let error: AdError
  let reason: DecisionReason
  /// How many of the three ads which rule excludes; none where there is no auction.
  let excluded: [NoServeReason: Int]
  let change: @Sendable (inout Samples) throws -> Void
  let request: @Sendable (inout AdRequest) -> Void

  init(
    _ description: String, _ excluded: [NoServeReason: Int], error: AdError = .inventoryUnavailable,
    reason: DecisionReason = .noEligibleAd, request: @escaping @Sendable (inout AdRequest) -> Void = { _ in },
    _ change: @escaping @Sendable (inout Samples) throws -> Void
  ) {
    testDescription = description
    self.error = error
    self.reason = reason
    self.excluded = excluded
    self.change = change
    self.request = request
  }

  static func everyCampaign(_ change: @escaping @Sendable (inout Campaign) -> Void) -> @Sendable (inout Samples) -> Void
  {
    { samples in for index in samples.campaigns.indices { change(&samples.campaigns[index]) } }
  }

  static func everyAd(_ change: @escaping @Sendable (inout Ad) -> Void) -> @Sendable (inout Samples) -> Void {
    { samples in for index in samples.ads.indices { change(&samples.ads[index]) } }
  }

  static func app(_ change: @escaping @Sendable (inout App) -> Void) -> @Sendable (inout Samples) -> Void {
    { samples in change(&samples.apps[0]) }
  }

  static let situations: [NoFill] = [
    NoFill("B4: every campaign is paused", [.paused: 3], everyCampaign { $0.isPaused = true }),
    NoFill("B4: every ad is paused", [.paused: 3], everyAd { $0.isPaused = true }),
    NoFill(
      "B4: no flight has begun", [.notYetStarted: 3],
      everyCampaign { $0.flightStart = Samples.now.advanced(byMilliseconds: 1) }),
    NoFill("B4: every flight ends at this moment", [.outsideFlight: 3], everyCampaign { $0.flightEnd = Samples.now }),
    NoFill(
      "A6: all campaigns are for Germany", [.countryNotTargeted: 3],
      everyCampaign { $0.targeting.countries = Set([Country("DE")].compactMap(\.self)) }),
    NoFill("A6: all campaigns are for iPad", [.deviceNotTargeted: 3], everyCampaign { $0.targeting.devices = [.pad] }),
    NoFill(
      "S4: no ad has an image for landscape", [.imageMissing: 3], everyAd { $0.images[.phoneBannerLandscape] = nil }),
    NoFill(
      "S7: no ad has a medium rectangle", [.imageMissing: 3],
      request: { $0.requiredSizes = ["portrait", "mediumRectangle"] }, { _ in }),
    NoFill(
      "A6: all campaigns are for portrait only", [.sizeNotTargeted: 3],
      everyCampaign { $0.targeting.sizes = [.phoneBannerPortrait] }),
    NoFill("A4: the app is for under 17, no campaign is", [.audienceUnder17: 3], app { $0.isUnder17 = true }),
    NoFill(
      "A6: all campaigns are for games", [.appCategoryNotTargeted: 3],
      everyCampaign { $0.targeting.appCategories = ["games"] }),
    NoFill(
      "A6: all campaigns are for another segment", [.segmentNotTargeted: 3], request: { $0.segments = ["hikers"] },
      everyCampaign { $0.targeting.segments = ["sailors"] }),
    NoFill(
      "A6: the app excludes the advertiser", [.advertiserExcluded: 3],
      app { $0.exclusions.advertisers = Set([AdvertiserID("acme")].compactMap(\.self)) }),
    NoFill(
      "A6: the app excludes the category", [.categoryExcluded: 3], app { $0.exclusions.categories = ["shopping"] }),
    NoFill("A6: the app excludes the keyword", [.keywordExcluded: 3], app { $0.exclusions.keywords = ["sun"] }),
    NoFill("A6: the app excludes the host", [.hostExcluded: 3], app { $0.exclusions.hosts = ["acme.example"] }),
    NoFill("No campaign has an allotment", [.noAllotment: 3], reason: .noAllotment) { samples in
      samples.withoutAllotment = Set(samples.campaigns.map(\.id))
    },
    NoFill("No heartbeat for 10 s, and no house ad", [.paidAdsSuspended: 3], reason: .paidAdsSuspended) {
      $0.freshness = .withoutHeartbeat
    },
    NoFill("The billing circuit breaker is open, and no house ad", [.paidAdsSuspended: 3], reason: .paidAdsStopped) {
      $0.freshness = .stopped
    },
    NoFill("A7: nothing is offered to the app, and no house ad", [.paidAdsWithheld: 3], reason: .paidAdsWithheld) {
      $0.standings = [AppStanding(app: $0.apps[0].id, offerPartsPerMillion: 0, stopped: 9, tapped: 9)]
    },
    NoFill("A5: the network does not operate there", [:], reason: .countryNotServed) { $0.settings?.countries = [] },
    NoFill("The catalogue is not complete", [:], error: .serverFailure, reason: .catalogIncomplete) {
      $0.freshness = .incomplete
    },
    NoFill(
      "Each ad fails for a reason of its own", [.paused: 1, .imageMissing: 1, .noAllotment: 1], reason: .noAllotment
    ) {
      samples in
      samples.campaigns[0].isPaused = true
      samples.ads[1].images = [:]
      samples.withoutAllotment = [samples.campaigns[2].id]
    },
    NoFill("An ad that breaks two rules counts under the first", [.paused: 2, .countryNotTargeted: 1]) { samples in
      for index in 0..<3 { samples.campaigns[index].targeting.countries = Set([Country("DE")].compactMap(\.self)) }
      samples.campaigns[0].isPaused = true
      samples.ads[1].isPaused = true
    },
  ]
}

@Suite("A request that finds no ad says why")
struct NoFillTests {
  @Test(
    "each situation has its error, its reason, and counts that add up to the candidates", arguments: NoFill.situations)
  func explains(_ situation: NoFill) throws {
    var samples = try Samples()
    try samples.add(campaign: "autumn", ad: "autumn-1")
    try samples.add(campaign: "winter", ad: "winter-1")
    try situation.change(&samples)
    let decision = samples.decide(try samples.request(change: situation.request))
    #expect(decision.outcome == .noAd(situation.error, situation.reason))
    let counted = Dictionary(uniqueKeysWithValues: decision.explanation.excluded.map { ($0.reason, $0.candidates) })
    #expect(counted == situation.excluded)
    #expect(decision.explanation.candidates == situation.excluded.values.reduce(0, +))
    #expect(decision.explanation.total == decision.explanation.candidates)
  }
}
