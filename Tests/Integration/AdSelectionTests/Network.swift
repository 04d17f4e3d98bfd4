import AdCore
import AdEvents
import AdSelectionCore
import Crypto
import Pipeline
import TestValues
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
    app = .sample()
    advertiser = .sample { $0.timeZone = "Europe/Berlin" }
    campaign = .sample("summer", of: advertiser.id)
    house = .sample("own", of: advertiser.id) {
      ($0.kind, $0.impressionPrice, $0.clickPrice) = (.house, .zero, .zero)
      // For one country, so that requests from others find no ad at all.
      $0.targeting = Targeting(countries: [known(Country("DE"))])
    }
    ads = [.sample("summer-1", of: campaign.id), .sample("own-1", of: house.id)]
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

  /// Gives the catalogue to whoever follows it, with its heartbeat.
  func beat(_ catalog: CatalogSource, at now: Timestamp) throws {
    let records = try records
    let count = Int64(records.count)
    catalog.apply(
      records.map { .message(.record($0, version: 1)) } + [
        .message(.heartbeat(records: count, versionSum: count, at: now, change: count))
      ], now: now)
  }

  func request(
    _ number: UInt64, at now: Timestamp, key: String = "live", country: String = "US",
    change: (inout AdRequest) -> Void = { _ in }
  ) throws -> AdRequest {
    let country = try #require(Country(country))
    return AdRequest.sample(number, at: now) {
      ($0.appKey, $0.app, $0.country) = (key, app.id, country)
      ($0.replyTopic, $0.correlationID) = ("ads.responses.weather", [4, 2])
      change(&$0)
    }
  }

  func grant(_ id: UInt64, ordinal: Int64 = 1, amount: Int64, until: Timestamp, day: Int32) -> AllotmentGrant {
    AllotmentGrant(
      allotment: id, ordinal: ordinal, campaign: campaign.id, budgetDay: day, amount: Nanos(amount),
      serveUntil: until, clickRates: ClickRateBounds(others: 43_590))
  }
}
