import AdCore
import AdEvents
import AdSelectionCore
import Crypto
import Pipeline
import Synchronization
import Testing

@testable import AdSelection
@testable import Runtime

/// A network with one app, one paid campaign and one house campaign.
struct Network {
  let ring: KeyRing
  let app: App
  let campaign: Campaign
  private let advertiser: Advertiser
  private let ads: [Ad]
  private let house: Campaign

  init() throws {
    ring = try KeyRing(keys: [try KeyRing.Key(id: 1, secret: [UInt8](repeating: 5, count: 32))])
    app = App(
      id: try #require(AppID("weather")), developer: try #require(DeveloperID("sunny")), name: "Weather",
      bundleID: "example.weather", isAgreementSigned: true, isUnder17: false, areAdsEnabled: true)
    advertiser = Advertiser(
      id: try #require(AdvertiserID("acme")), name: "Acme", currency: try #require(Currency("USD")),
      timeZone: "Europe/Berlin", accountFunding: 1_000_000_000_000)
    campaign = try Network.campaign("summer", .brand, of: advertiser.id)
    house = try Network.campaign("own", .house, of: advertiser.id)
    ads = [try Network.ad("summer-1", of: campaign.id), try Network.ad("own-1", of: house.id)]
  }

  private static func campaign(_ id: String, _ kind: Campaign.Kind, of advertiser: AdvertiserID) throws -> Campaign {
    Campaign(
      id: try #require(CampaignID(id)), advertiser: advertiser, name: id, kind: kind,
      impressionPrice: kind == .house ? .zero : Nanos(10_000_000),
      clickPrice: kind == .house ? .zero : Nanos(2_000_000_000), totalBudget: 1_000_000_000_000, dailyBudget: nil,
      flightStart: Timestamp(milliseconds: 0), flightEnd: Timestamp(milliseconds: 4_000_000_000_000), isPaused: false,
      // The house campaign is for one country, so that requests from others find no ad at all.
      targeting: Targeting(countries: kind == .house ? [try #require(Country("DE"))] : []))
  }

  private static func ad(_ id: String, of campaign: CampaignID) throws -> Ad {
    Ad(
      id: try #require(AdID(id)), campaign: campaign,
      images: [
        .phoneBannerPortrait: "https://images.example/\(id)/320x50.png",
        .phoneBannerLandscape: "https://images.example/\(id)/480x32.png",
      ], action: AdAction(kind: .cover, destination: "https://shop.example/"), lifetimeMilliseconds: 600_000)
  }

  var records: [CatalogRecord] {
    get throws {
      let keys = [("live", BuildKind.distribution), ("test", .developer)].map {
        CatalogRecord.appKey(AppKey(app: app.id, build: $0.1, keyHash: SHA256.hash($0.0.utf8)))
      }
      let countries = [try #require(Country("US")), try #require(Country("DE"))]
      let settings = NetworkSettings(
        countries: Set(countries), testFillBasisPoints: 10_000, testErrorBasisPoints: 0)
      return [
        .advertiser(advertiser), .campaign(campaign), .campaign(house), .app(app), .settings(settings),
        .developer(Developer(id: app.developer, name: "Sunny")),
      ] + ads.map { .ad($0) } + keys
    }
  }

  func request(
    _ number: UInt64, at now: Timestamp, key: String = "live", country: String = "US",
    change: (inout AdRequest) -> Void = { _ in }
  ) throws -> AdRequest {
    var request = AdRequest(
      requestID: UUIDv7(timestamp: now, randomHigh: 1, randomLow: number), appKey: key, app: app.id,
      placement: try #require(PlacementID("home")), clientID: "client-\(number)", sessionID: "session",
      country: try #require(Country(country)), device: .phone, requiredSizes: [], currentSize: "",
      isInterstitial: false, deadlineMilliseconds: 10_000, replyPartition: 0, replyTopic: "ads.responses.weather",
      correlationID: [4, 2])
    change(&request)
    return request
  }

  func grant(_ id: UInt64, ordinal: Int64 = 1, amount: Int64, until: Timestamp, day: Int32) -> AllotmentGrant {
    AllotmentGrant(
      allotment: id, ordinal: ordinal, campaign: campaign.id, budgetDay: day, amount: Nanos(amount),
      serveUntil: until, clickRates: ClickRateBounds(others: 43_590))
  }
}

/// A clock that a test sets.
final class SetClock: TimeSource {
  private let time: Mutex<Timestamp>

  init(_ now: Timestamp) { time = Mutex(now) }

  var now: Timestamp { time.withLock { $0 } }
  var monotonicMilliseconds: Int64 { now.milliseconds }
  var monotonicMicroseconds: Int64 { now.milliseconds * 1_000 }
  func advance(byMilliseconds milliseconds: Int64) {
    time.withLock { $0 = $0.advanced(byMilliseconds: milliseconds) }
  }
}

/// The same clock as the pipeline asks it.
struct PipelineTime: Clock {
  let clock: SetClock
  func now() -> Timestamp { clock.now }
}
