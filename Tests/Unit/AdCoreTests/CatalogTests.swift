import Testing

@testable import AdBasics
@testable import AdCore

@Suite("Catalogue records")
struct CatalogTests {
  private func fields(_ record: CatalogRecord) -> [String] { record.faults().map(\.field) }

  @Test("Good records have no faults")
  func good() throws {
    let app = try Samples.app()
    let records: [CatalogRecord] = [
      .advertiser(try Samples.advertiser()), .campaign(try Samples.campaign()), .ad(try Samples.ad()), .app(app),
      .developer(Developer(id: app.developer, name: "Sunny Apps")),
      .appKey(AppKey(app: app.id, build: .adHoc, keyHash: Array(0..<32))),
      .settings(NetworkSettings(countries: [try #require(Country("US"))])),
    ]
    for record in records { #expect(record.faults().isEmpty) }
    #expect(try Samples.ad().faults(in: try Samples.campaign()).isEmpty)
  }

  @Test("Each record has its own key on the compacted topic")
  func keys() throws {
    let app = try Samples.app()
    let records: [(CatalogRecord, String)] = [
      (.advertiser(try Samples.advertiser()), "advertiser/acme"),
      (.campaign(try Samples.campaign()), "campaign/acme-summer"),
      (.ad(try Samples.ad()), "ad/acme-summer-1"), (.app(app), "app/weather"),
      (.developer(Developer(id: app.developer, name: "Sunny Apps")), "developer/sunny-apps"),
      (
        .appKey(AppKey(app: app.id, build: .adHoc, keyHash: Array(0..<32))),
        "app-key/weather/ad-hoc/0001020304050607"
      ), (.settings(NetworkSettings(countries: [])), "settings"),
    ]
    for (record, key) in records { #expect(record.key == key) }
  }

  @Test("All faults of a record are told at once, each with what to change")
  func allAtOnce() throws {
    var campaign = try Samples.campaign()
    campaign.name = " "
    campaign.impressionPrice = Nanos(-1)
    campaign.totalBudget = -1
    campaign.dailyBudget = -1
    campaign.flightEnd = campaign.flightStart
    campaign.targeting.segments = ["Music", ""]
    let faults = CatalogRecord.campaign(campaign).faults()
    #expect(
      faults.map(\.field) == [
        "name", "impressionPrice", "totalBudget", "dailyBudget", "flightEnd", "targeting.segments",
        "targeting.segments",
      ])
    #expect(faults[1].description == "impressionPrice: it is -0.000000001: a price is 0 or more")
    #expect(faults.allSatisfy { $0.advice.count > 10 })
  }

  @Test("B1: brand campaigns pay for impressions or clicks, developer ones for clicks only, house ones for nothing")
  func prices() throws {
    var campaign = try Samples.campaign()
    func fieldsAt(_ kind: Campaign.Kind, _ impression: Int64, _ click: Int64) -> [String] {
      campaign.kind = kind
      campaign.impressionPrice = Nanos(impression)
      campaign.clickPrice = Nanos(click)
      return fields(.campaign(campaign))
    }
    #expect(fieldsAt(.brand, 1, 0).isEmpty && fieldsAt(.brand, 0, 1).isEmpty && fieldsAt(.brand, 1, 1).isEmpty)
    #expect(fieldsAt(.brand, 0, 0) == ["impressionPrice"])
    #expect(fieldsAt(.developer, 0, 1).isEmpty)
    #expect(fieldsAt(.developer, 1, 1) == ["impressionPrice"])
    #expect(fieldsAt(.developer, 0, 0) == ["clickPrice"])
    #expect(fieldsAt(.house, 0, 0).isEmpty)
    #expect(fieldsAt(.house, 1, 1) == ["impressionPrice", "clickPrice"])
    let most = CatalogLimits.priceMaximum.value
    #expect(fieldsAt(.brand, most, most).isEmpty)
    #expect(fieldsAt(.brand, most + 1, most + 1) == ["impressionPrice", "clickPrice"])
    #expect(fieldsAt(.brand, -1, .min) == ["impressionPrice", "clickPrice", "impressionPrice"])
  }

  @Test("B4: budgets are 0 or more, and a flight ends after its start")
  func budgets() throws {
    var campaign = try Samples.campaign()
    campaign.totalBudget = 0
    campaign.dailyBudget = nil
    campaign.flightEnd = campaign.flightStart.advanced(byMilliseconds: 1)
    #expect(fields(.campaign(campaign)).isEmpty)
    campaign.totalBudget = Nanos.sumMaximum
    #expect(fields(.campaign(campaign)).isEmpty)
    campaign.totalBudget = Nanos.sumMaximum + 1
    campaign.flightEnd = campaign.flightStart.advanced(byMilliseconds: -1)
    #expect(fields(.campaign(campaign)) == ["totalBudget", "flightEnd"])
  }

  @Test("B4: a budget of a paid campaign is enough for an impression with its click, or 0")
  func scarceBudgets() throws {
    var campaign = try Samples.campaign()
    func fieldsAt(_ kind: Campaign.Kind, _ total: Int128, _ daily: Int128?) -> [String] {
      (campaign.kind, campaign.impressionPrice, campaign.clickPrice) = (kind, Nanos(3), Nanos(4))
      (campaign.totalBudget, campaign.dailyBudget) = (total, daily)
      return campaign.scarceBudgets().map(\.field)
    }
    #expect(fieldsAt(.brand, 7, 7).isEmpty && fieldsAt(.brand, 7, nil).isEmpty && fieldsAt(.brand, 0, 0).isEmpty)
    #expect(fieldsAt(.brand, 6, 7) == ["totalBudget"] && fieldsAt(.brand, 7, 6) == ["dailyBudget"])
    #expect(fieldsAt(.brand, 1, 1) == ["totalBudget", "dailyBudget"])
    #expect(fieldsAt(.developer, 4, 4).isEmpty && fieldsAt(.developer, 3, 4) == ["totalBudget"])
    #expect(fieldsAt(.house, 1, 1).isEmpty)
  }

  @Test("D11: brand ads cover, developer ads leave, house ads do either")
  func actions() throws {
    var campaign = try Samples.campaign()
    var ad = try Samples.ad()
    let allowed: [Campaign.Kind: Set<AdAction.Kind>] = [
      .brand: [.cover], .developer: [.leave], .house: [.cover, .leave],
    ]
    for kind in Campaign.Kind.allCases {
      for action in AdAction.Kind.allCases {
        campaign.kind = kind
        ad.action.kind = action
        let isAllowed = allowed[kind]?.contains(action) ?? false
        #expect(ad.faults(in: campaign).map(\.field) == (isAllowed ? [] : ["action.kind"]))
      }
    }
    campaign.id = try #require(CampaignID("other"))
    #expect(ad.faults(in: campaign).map(\.field) == ["campaign"])
  }

  @Test(
    "D5: an ad's content lives 5 to 15 minutes",
    arguments: [(299_999, false), (300_000, true), (900_000, true), (900_001, false), (-1, false)])
  func life(milliseconds: Int64, isGood: Bool) throws {
    var ad = try Samples.ad()
    ad.lifetimeMilliseconds = milliseconds
    #expect(fields(.ad(ad)) == (isGood ? [] : ["lifetimeMilliseconds"]))
  }

  @Test("S4, D11: an ad has images and a destination that can be fetched")
  func urls() throws {
    var ad = try Samples.ad()
    ad.images = [:]
    ad.action.destination = "itms-apps://acme.example/app"
    #expect(fields(.ad(ad)) == ["images", "action.destination"])
    ad.action.kind = .leave
    ad.images = [.mediumRectangle: "file:///etc/passwd", .padBannerPortrait: "https://a.example/ä.png"]
    #expect(fields(.ad(ad)) == ["images.768x66", "images.300x250"])
    let start = "https://a.example/"
    for (count, isGood) in [(URLText.bytesMaximum, true), (URLText.bytesMaximum + 1, false)] {
      ad.images = [.mediumRectangle: start + String(repeating: "x", count: count - start.utf8.count)]
      #expect(fields(.ad(ad)).isEmpty == isGood)
    }
  }

  @Test("B2: a share is 0 to 10,000 basis points", arguments: [(0, true), (10_000, true), (10_001, false)])
  func share(basisPoints: UInt16, isGood: Bool) throws {
    var app = try Samples.app()
    app.shareBasisPoints = basisPoints
    #expect(fields(.app(app)) == (isGood ? [] : ["shareBasisPoints"]))
  }

  @Test("A9: a record cannot be ahead of its set-up")
  func setUp() throws {
    var app = try Samples.app()
    app.isAgreementSigned = false
    #expect(fields(.app(app)) == ["isUnder17", "areAdsEnabled"])
    app.isUnder17 = nil
    #expect(fields(.app(app)) == ["areAdsEnabled"])
    app.areAdsEnabled = false
    #expect(fields(.app(app)).isEmpty)
  }

  @Test("An app's bundle id and excluded hosts have their forms")
  func appTexts() throws {
    var app = try Samples.app()
    app.bundleID = ""
    app.exclusions.hosts = ["https://a.example", "a.example", "A.example", ".a.example", "a..example"]
    app.exclusions.keywords = [" summer"]
    #expect(
      fields(.app(app)) == ["bundleID", "exclusions.keywords"] + Array(repeating: "exclusions.hosts", count: 4))
    app = try Samples.app()
    app.exclusions.hosts = Set((0...CatalogLimits.entriesMaximum).map { "h\($0).example" })
    #expect(fields(.app(app)) == ["exclusions.hosts"])
  }

  @Test("An advertiser has funds of 0 or more and a time zone that exists")
  func advertiser() throws {
    var advertiser = try Samples.advertiser()
    advertiser.accountFunding = -1
    advertiser.timeZone = "Europe/Atlantis"
    #expect(fields(.advertiser(advertiser)) == ["accountFunding", "timeZone"])
    advertiser.timeZone = ""
    advertiser.accountFunding = 0
    #expect(fields(.advertiser(advertiser)) == ["timeZone"])
  }

  @Test("A1: a key is kept as a SHA-256", arguments: [0, 31, 33])
  func keyHash(count: Int) throws {
    let key = AppKey(app: try Samples.app().id, build: .developer, keyHash: [UInt8](repeating: 1, count: count))
    #expect(fields(.appKey(key)) == ["keyHash"])
  }

  @Test("A2, A5: the settings name countries, and shares of test traffic that fit together")
  func settings() throws {
    let countries: Set<Country> = [try #require(Country("US"))]
    #expect(fields(.settings(NetworkSettings(countries: []))) == ["countries"])
    #expect(
      fields(.settings(NetworkSettings(countries: countries, testFillBasisPoints: 9_000, testErrorBasisPoints: 1_000)))
        .isEmpty)
    #expect(
      fields(.settings(NetworkSettings(countries: countries, testFillBasisPoints: 9_000, testErrorBasisPoints: 1_001)))
        == ["testErrorBasisPoints"])
    #expect(
      fields(.settings(NetworkSettings(countries: countries, testFillBasisPoints: 10_001, testErrorBasisPoints: 0)))
        == ["testFillBasisPoints", "testErrorBasisPoints"])
  }

  @Test("A unit of a currency is worth 1 to 10^12 millionths of the network's own")
  func currencyRates() throws {
    let (country, yen) = (try #require(Country("US")), try #require(Currency("JPY")))
    for (rate, isGood) in [
      (0, false), (1, true), (1_000_000_000_000, true), (1_000_000_000_001, false), (-1, false),
    ] as [(Int64, Bool)] {
      let settings = NetworkSettings(countries: [country], currencyRates: [yen: rate])
      #expect(fields(.settings(settings)) == (isGood ? [] : ["currencyRates.JPY"]))
    }
  }

  @Test("Names are 1 to 200 bytes without control characters")
  func names() throws {
    let id = try Samples.app().developer
    for (name, isGood) in [
      (String(repeating: "ä", count: 100), true), (String(repeating: "ä", count: 100) + "a", false), ("", false),
      ("a\u{0}b", false), ("a\nb", false), ("\t", false), ("Ünïcode 広告", true),
    ] {
      #expect(fields(.developer(Developer(id: id, name: name))).isEmpty == isGood)
    }
  }
}
