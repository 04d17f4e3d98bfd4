internal import AdCore
internal import Crypto

/// A small network that looks like one: four developers with seven apps, five advertisers with nine campaigns. The
/// same at each call, so that applying it again changes nothing.
///
/// Its app keys are made from the apps' names and known to everybody: it is for demos and tests, never for a network
/// with real money.
struct SeedNetwork: Sendable {
  /// When the campaigns' flights begin; they last a year.
  let flightStart: Timestamp

  /// Flights begin with the year of `now`, so that a year's runs apply the same catalogue.
  init(now: Timestamp) {
    let year = now.utcText.prefix(4)
    flightStart = Timestamp(utcText: "\(year)-01-01T00:00:00Z") ?? now
  }

  /// The whole catalogue.
  var records: [CatalogRecord] {
    [.settings(settings)] + developers.map(CatalogRecord.developer) + apps.map(CatalogRecord.app)
      + appKeys.map(CatalogRecord.appKey) + advertisers.map(CatalogRecord.advertiser)
      + campaigns.map(CatalogRecord.campaign) + ads.map(CatalogRecord.ad)
  }

  /// The key that an app's build carries.
  static func key(_ app: AppID, _ build: BuildKind) -> String { "seed-key-of-\(app.text)-\(build.name)" }

  var settings: NetworkSettings {
    NetworkSettings(countries: Set(["DE", "FR", "GB", "US"].compactMap(Country.init(_:))))
  }

  var developers: [Developer] {
    [
      ("lakeside", "Lakeside Software"), ("quiet-fox", "Quiet Fox Games"), ("paper-kite", "Paper Kite"),
      ("ada", "Ada B."),
    ]
    .compactMap { id, name in DeveloperID(id).map { Developer(id: $0, name: name) } }
  }

  private struct AppLine {
    let id: String
    let developer: String
    let name: String
    let categories: Set<String>
    var isUnder17 = false
    var isEnabled = true
    var shareBasisPoints = RevenueShare.standard
    var excludedCategories: Set<String> = []
  }

  private static let appLines = [
    AppLine(id: "weather", developer: "lakeside", name: "Weather by the Lake", categories: ["weather"]),
    AppLine(id: "tide-tables", developer: "lakeside", name: "Tide Tables", categories: ["weather", "sports"]),
    AppLine(id: "chess", developer: "quiet-fox", name: "Chess for Evenings", categories: ["games"]),
    AppLine(
      id: "puzzle-farm", developer: "quiet-fox", name: "Puzzle Farm", categories: ["games", "kids"], isUnder17: true,
      excludedCategories: ["finance"]),
    AppLine(
      id: "reader", developer: "paper-kite", name: "The Long Read", categories: ["news", "books"],
      shareBasisPoints: 6_500),
    AppLine(id: "recipes", developer: "ada", name: "Recipes without a Hurry", categories: ["food"]),
    // Not yet set up: its live requests are told so (A3).
    AppLine(id: "sketches", developer: "ada", name: "Sketches", categories: ["art"], isEnabled: false),
  ]

  /// Whether an app is for users under 17: then it has no client ids (A4, A8).
  static func isUnder17(_ app: AppID) -> Bool { appLines.contains { $0.isUnder17 && $0.id == app.text } }

  var apps: [App] {
    Self.appLines.compactMap { line in
      guard let id = AppID(line.id), let developer = DeveloperID(line.developer) else { return nil }
      return App(
        id: id, developer: developer, name: line.name, bundleID: "com.example.\(line.id)", isAgreementSigned: true,
        isUnder17: line.isUnder17, areAdsEnabled: line.isEnabled, categories: line.categories,
        shareBasisPoints: line.shareBasisPoints, exclusions: Exclusions(categories: line.excludedCategories))
    }
  }

  var appKeys: [AppKey] {
    apps.flatMap { app in
      BuildKind.allCases.map { build in
        AppKey(app: app.id, build: build, keyHash: SHA256.hash(Self.key(app.id, build).utf8))
      }
    }
  }
}
