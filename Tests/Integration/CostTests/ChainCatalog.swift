import AdCore
import AdEvents
import Crypto
import TestValues

/// A catalogue of some breadth: 16 apps of two developers, 10 advertisers, 50 campaigns with two ads each, all for
/// everybody.
enum ChainCatalog {
  static let apps = (0..<16).map { number in
    App.sample("chain-app-\(number)") { $0.developer = developers[number % 2].id }
  }
  private static let developers = (0..<2).map { Developer(id: known(DeveloperID("dev-\($0)")), name: "Dev \($0)") }
  private static let advertisers = (0..<10).map { Advertiser.sample("adv-\($0)") }
  private static let campaigns = (0..<50).map { number in
    Campaign.sample("camp-\(number)", of: advertisers[number % advertisers.count].id)
  }
  private static let ads = (0..<100).map { Ad.sample("ad-\($0)", of: campaigns[$0 / 2].id) }
  static let countries = ["US", "FR", "JP", "DE", "GB"]

  static func key(of app: Int) -> String { "chain-distribution-key-\(app)" }

  static let records: [CatalogRecord] = {
    let settings = NetworkSettings(
      countries: Set(countries.map { known(Country($0)) }), testFillBasisPoints: 10_000, testErrorBasisPoints: 0)
    let keys = apps.enumerated().map {
      AppKey(app: $1.id, build: .distribution, keyHash: SHA256.hash(key(of: $0).utf8))
    }
    return [.settings(settings)] + developers.map { .developer($0) } + advertisers.map { .advertiser($0) }
      + campaigns.map { .campaign($0) } + ads.map { .ad($0) } + apps.map { .app($0) } + keys.map { .appKey($0) }
  }()
}
