import TestValues
import Testing

@testable import AdBasics
@testable import AdCore

@Suite("A: audience and set-up")
struct AudienceTests {
  @Test("A1: developer and ad-hoc builds see test ads, whatever the set-up", arguments: [BuildKind.developer, .adHoc])
  func testBuilds(build: BuildKind) throws {
    #expect(AudienceDecision.decide(app: try Samples.app(), build: build) == .test)
    var app = try Samples.app()
    app.isAgreementSigned = false
    app.isUnder17 = nil
    app.areAdsEnabled = false
    #expect(AudienceDecision.decide(app: app, build: build) == .test)
  }

  @Test("A1, A3: a distribution build sees live ads only once every step of the set-up is taken")
  func distribution() throws {
    let app = try Samples.app()
    #expect(AudienceDecision.decide(app: app, build: .distribution) == .live)
    var unsigned = app
    unsigned.isAgreementSigned = false
    var unanswered = app
    unanswered.isUnder17 = nil
    var disabled = app
    disabled.areAdsEnabled = false
    let cases = [
      (unsigned, "A3: the network agreement is not signed"),
      (unanswered, "A3: the primary audience is not answered (under 17: yes or no)"),
      (disabled, "A3: ads are not enabled for the app"),
    ]
    for (app, reason) in cases {
      #expect(
        AudienceDecision.decide(app: app, build: .distribution) == .refused(.configurationError, reason: reason))
    }
  }

  @Test("A4: under 17 can be set once and never taken back, not even to no answer")
  func under17() {
    for old in [true, false] {
      for new in [true, false, nil] {
        let refusal = PrimaryAudience.refusal(wasUnder17: old, isUnder17: new, bundleID: "com.example.weather")
        #expect((refusal == nil) == (!old || new == true))
        #expect(refusal == nil || refusal?.rule == "A4")
        #expect(refusal?.reason.contains("com.example.weather") ?? true)
      }
    }
  }

  @Test("A4: neither another app of the bundle id nor a change of the bundle id is a way around it")
  func bundles() throws {
    var kids = try Samples.app()
    kids.isUnder17 = true
    var grown = kids
    grown.isUnder17 = false
    #expect(PrimaryAudience.refusals(from: kids, to: kids, isBundleUnder17: true).isEmpty)
    #expect(PrimaryAudience.refusals(from: kids, to: grown, isBundleUnder17: false).map(\.rule) == ["A4"])
    #expect(PrimaryAudience.refusals(from: nil, to: grown, isBundleUnder17: true).map(\.rule) == ["A4"])
    #expect(PrimaryAudience.refusals(from: nil, to: grown, isBundleUnder17: false).isEmpty)
    #expect(PrimaryAudience.refusals(from: grown, to: kids, isBundleUnder17: false).isEmpty)
    grown.bundleID = "com.example.other"
    #expect(PrimaryAudience.refusals(from: kids, to: grown, isBundleUnder17: false).map(\.rule) == ["A4", "A4"])
  }

  @Test("A9: the steps in their order set an app up, and the next one is known")
  func order() throws {
    var app = try Samples.app()
    app.isAgreementSigned = false
    app.isUnder17 = nil
    app.areAdsEnabled = false
    #expect(AppSetUp.nextStep(of: app) == .acceptAgreement && app.faults().isEmpty)
    app.isAgreementSigned = true
    #expect(AppSetUp.nextStep(of: app) == .answerAudience && app.faults().isEmpty)
    app.isUnder17 = true
    #expect(AppSetUp.nextStep(of: app) == .enableAds && app.faults().isEmpty)
    app.areAdsEnabled = true
    #expect(AppSetUp.nextStep(of: app) == nil && app.faults().isEmpty)
  }

  @Test("A4: the answer no is refused for a bundle id that another app set to under 17")
  func answerOfBundle() throws {
    let answered = try Samples.app()
    var before = answered
    before.isUnder17 = nil
    #expect(answered.isUnder17 == false)
    #expect(PrimaryAudience.refusals(from: before, to: answered, isBundleUnder17: true).map(\.rule) == ["A4"])
  }

  @Test("A5: the network serves the countries of its settings only")
  func countries() throws {
    let settings = NetworkSettings(countries: [try #require(Country("US")), try #require(Country("JP"))])
    #expect(settings.isServed(try #require(Country("JP"))))
    #expect(!settings.isServed(try #require(Country("DE"))))
  }

  @Test("The numbers of reasons, errors and build names are public and stay")
  func numbers() {
    #expect(NoServeReason.allCases.map(\.rawValue) == Array(1...17))
    #expect(Set(AdEligibility.order) == Set(NoServeReason.allCases))
    #expect(AdEligibility.order.count == NoServeReason.allCases.count)
    #expect(AdError.allCases.map(\.rawValue) == Array(0...10))
    #expect(BuildKind.allCases.map(\.name) == ["developer", "ad-hoc", "distribution"])
    #expect(BuildKind.allCases.allSatisfy { BuildKind(name: $0.name) == $0 } && BuildKind(name: "release") == nil)
  }
}

@Suite("A4, A6, S4: which ads may be shown in an app")
struct EligibilityTests {
  private func reason(
    now: Timestamp = Samples.now, _ change: (inout Ad, inout Campaign, inout App, inout AdEligibility.Request) -> Void
  ) throws -> NoServeReason? {
    var ad = try Samples.ad()
    var campaign = try Samples.campaign()
    var app = try Samples.app()
    var request = AdEligibility.Request(
      country: try #require(Country("US")), device: .phone,
      requiredSizes: [.phoneBannerPortrait, .phoneBannerLandscape], segments: ["sports"])
    change(&ad, &campaign, &app, &request)
    return AdEligibility.reasonAgainst(ad, of: campaign, in: app, request: request, now: now)
  }

  @Test("A campaign for everybody is served to everybody")
  func everybody() throws {
    #expect(try reason { _, _, _, _ in } == nil)
  }

  @Test("B4: the flight begins with its first millisecond and ends before its last")
  func flight() throws {
    let campaign = try Samples.campaign()
    #expect(try reason(now: campaign.flightStart) { _, _, _, _ in } == nil)
    let before = campaign.flightStart.advanced(byMilliseconds: -1)
    #expect(try reason(now: before) { _, _, _, _ in } == .notYetStarted)
    let last = campaign.flightEnd.advanced(byMilliseconds: -1)
    #expect(try reason(now: last) { _, _, _, _ in } == nil)
    #expect(try reason(now: campaign.flightEnd) { _, _, _, _ in } == .outsideFlight)
  }

  @Test("A paused campaign, and a paused ad, are not served")
  func paused() throws {
    #expect(try reason { ad, _, _, _ in ad.isPaused = true } == .paused)
    #expect(try reason { _, campaign, _, _ in campaign.isPaused = true } == .paused)
  }

  @Test("A6: each kind of targeting keeps others away and lets its own through")
  func targeting() throws {
    let germany = try #require(Country("DE"))
    #expect(try reason { _, campaign, _, _ in campaign.targeting.countries = [germany] } == .countryNotTargeted)
    #expect(
      try reason { _, campaign, _, request in
        campaign.targeting.countries = [germany]
        request.country = germany
      } == nil)
    #expect(try reason { _, campaign, _, _ in campaign.targeting.devices = [.pad] } == .deviceNotTargeted)
    #expect(try reason { _, campaign, _, _ in campaign.targeting.devices = [.pad, .phone] } == nil)
    #expect(
      try reason { _, campaign, _, _ in campaign.targeting.sizes = [.phoneBannerPortrait] } == .sizeNotTargeted)
    #expect(
      try reason { _, campaign, _, request in
        campaign.targeting.sizes = [.phoneBannerPortrait]
        request.requiredSizes = [.phoneBannerPortrait]
      } == nil)
    #expect(
      try reason { _, campaign, _, _ in campaign.targeting.appCategories = ["games"] } == .appCategoryNotTargeted)
    #expect(try reason { _, campaign, _, _ in campaign.targeting.appCategories = ["games", "weather"] } == nil)
    #expect(try reason { _, campaign, _, _ in campaign.targeting.segments = ["music"] } == .segmentNotTargeted)
    #expect(try reason { _, campaign, _, _ in campaign.targeting.segments = ["music", "sports"] } == nil)
  }

  @Test("S4: an ad without an image for a required size is not eligible")
  func images() throws {
    #expect(try reason { ad, _, _, _ in ad.images[.phoneBannerLandscape] = nil } == .imageMissing)
  }

  @Test("A4: an app for under 17, or one that has not answered, shows only ads that allow it")
  func under17() throws {
    for answer in [true, nil] {
      #expect(try reason { _, _, app, _ in app.isUnder17 = answer } == .audienceUnder17)
      #expect(
        try reason { _, campaign, app, _ in
          app.isUnder17 = answer
          campaign.targeting.allowsUnder17 = true
        } == nil)
    }
  }

  @Test("A6: an app excludes by advertiser, category, keyword and host")
  func exclusions() throws {
    let acme = try #require(AdvertiserID("acme"))
    #expect(try reason { _, _, app, _ in app.exclusions.advertisers = [acme] } == .advertiserExcluded)
    #expect(try reason { _, _, app, _ in app.exclusions.categories = ["cars"] } == .categoryExcluded)
    #expect(try reason { _, _, app, _ in app.exclusions.keywords = ["summer"] } == .keywordExcluded)
    #expect(try reason { _, _, app, _ in app.exclusions.hosts = ["acme.example"] } == .hostExcluded)
    #expect(
      try reason { _, _, app, _ in
        app.exclusions = Exclusions(categories: ["dating"], keywords: ["casino"], hosts: ["other.example"])
      } == nil)
  }

  @Test(
    "A6: an excluded host excludes itself and its subdomains, however the URL is written",
    arguments: [
      ("https://acme.example/summer", true), ("https://www.acme.example", true),
      ("http://a.b.acme.example:8080/x", true),
      ("HTTPS://WWW.ACME.EXAMPLE/", true), ("https://acme.example./", true), ("https://user:pass@acme.example/", true),
      ("https://acme.example?x=1", true), ("https://acme.example#x", true), ("https:\\\\acme.example\\x", true),
      ("itms-apps://acme.example/app", true), ("https://notacme.example/", false), ("https://example/", false),
      ("https://acme.example.org/", false), ("https://other.example/acme.example", false),
      ("https://other.example/?u=https://acme.example", false), ("https://other.example#@acme.example", false),
      ("mailto:x@acme.example", false), ("acme.example", false), ("", false), ("https://", false),
    ])
  func hosts(url: String, isExcluded: Bool) {
    #expect(Exclusions(hosts: ["acme.example"]).excludesHost(of: url) == isExcluded)
    #expect(!Exclusions().excludesHost(of: url))
  }
}
