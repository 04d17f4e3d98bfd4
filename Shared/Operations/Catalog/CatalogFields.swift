internal import AdCore

/// What a member of a record in a catalogue file may be. The reader, the published schema and `catalog set` all go by
/// these declarations.
indirect enum CatalogShape: Sendable {
  case slug
  case text(bytesMaximum: Int)
  case url
  /// A URL, or a path at the edge.
  case image
  case currency
  /// Units of the currency as decimal text, up to nine decimals.
  case money
  /// The price of a thousand impressions as decimal text, up to six decimals.
  case pricePerThousand
  case flag
  case integer(ClosedRange<Int64>)
  /// RFC 3339 in UTC.
  case moment
  case choice([String])
  /// Text or null.
  case nullable(CatalogShape)
  case list(CatalogShape)
  /// Names to texts.
  case map(names: [String], CatalogShape)
  /// Currencies to values.
  case currencies(CatalogShape)
  case object([CatalogField])
  case hexadecimal(bytes: Int)
}

/// One member of a record in a catalogue file.
struct CatalogField: Sendable {
  let name: String
  let shape: CatalogShape
  let isRequired: Bool
  /// One sentence for the schema.
  let help: String

  init(_ name: String, _ shape: CatalogShape, isRequired: Bool = false, _ help: String) {
    self.name = name
    self.shape = shape
    self.isRequired = isRequired
    self.help = help
  }
}

extension CatalogKind {
  /// The members of a record of this kind.
  var fields: [CatalogField] {
    switch self {
    case .advertiser: CatalogFields.advertiser
    case .campaign: CatalogFields.campaign
    case .ad: CatalogFields.ad
    case .developer: CatalogFields.developer
    case .app: CatalogFields.app
    case .appKey: CatalogFields.appKey
    case .settings: CatalogFields.settings
    case .standing: CatalogFields.standing
    }
  }
}

/// The members of each kind of record.
enum CatalogFields {
  private static let name = CatalogField(
    "name", .text(bytesMaximum: CatalogLimits.nameBytesMaximum), isRequired: true, "The name that people see.")
  private static let terms = CatalogShape.list(.text(bytesMaximum: CatalogLimits.termBytesMaximum))
  private static let countries = CatalogShape.list(.text(bytesMaximum: 2))
  private static let devices = Device.allCases.map(\.name)
  private static let sizes = AdSize.allCases.map(\.name)

  private static func id(_ of: String) -> CatalogField {
    CatalogField("id", .slug, isRequired: true, "The \(of)'s id: it never changes.")
  }

  static let advertiser = [
    id("advertiser"), name,
    CatalogField("currency", .currency, isRequired: true, "ISO 4217 code of the account."),
    CatalogField("timeZone", .text(bytesMaximum: 64), isRequired: true, "IANA time zone: budget days are cut in it."),
    CatalogField("accountFunding", .money, isRequired: true, "What the account can be charged in all."),
  ]

  static let campaign = [
    id("campaign"),
    CatalogField("advertiser", .slug, isRequired: true, "Who pays: the id of an advertiser."), name,
    CatalogField(
      "kind", .choice(Campaign.Kind.allCases.map(\.catalogName)), isRequired: true,
      "brand pays for impressions and clicks, developer for clicks only, house pays nothing (B1)."),
    CatalogField("cpm", .pricePerThousand, "The price of a thousand impressions; 0 when absent."),
    CatalogField("clickPrice", .money, "The price of a click; 0 when absent."),
    CatalogField("totalBudget", .money, isRequired: true, "The campaign is never charged beyond it (B4)."),
    CatalogField("dailyBudget", .nullable(.money), "The most for one budget day; absent or null for no daily limit."),
    CatalogField("flightStart", .moment, isRequired: true, "The flight's first moment."),
    CatalogField("flightEnd", .moment, isRequired: true, "The moment after the flight's last."),
    CatalogField("isPaused", .flag, "Not served while true; false when absent."),
    CatalogField(
      "targeting",
      .object([
        CatalogField("countries", countries, "ISO 3166 codes of two letters; none means all."),
        CatalogField("devices", .list(.choice(devices)), "None means all."),
        CatalogField("sizes", .list(.choice(sizes)), "Sizes in points; none means all."),
        CatalogField("allowsUnder17", .flag, "May be shown in apps aimed at users under 17 (A4); false when absent."),
        CatalogField("appCategories", terms, "None means all."),
        CatalogField("segments", terms, "None means all."),
      ]), "Whom the campaign is for (A6); everybody over 16 when absent."),
  ]

  static let ad = [
    id("ad"),
    CatalogField("campaign", .slug, isRequired: true, "The id of its campaign."),
    CatalogField(
      "images", .map(names: sizes, .image), isRequired: true,
      "The image for each size it has (S4): a URL, or a path at the edge. With #sha256=HEX&bytes=COUNT at its end clients "
        + "check what they fetch."),
    CatalogField(
      "action",
      .object([
        CatalogField(
          "kind", .choice(AdAction.Kind.allCases.map(\.name)), isRequired: true,
          "cover the screen (brand ads) or leave the application (developer ads: D11)."),
        CatalogField(
          "destination", .url, isRequired: true,
          "Where a tap leads; {click:APP} in the query of a store link becomes the click's reference for the advertised app (M8)."
        ),
      ]), isRequired: true, "What a tap does (D11)."),
    CatalogField(
      "lifetimeMilliseconds", .integer(CatalogLimits.lifetimeMilliseconds),
      "How long its content lives (D5); 900000 when absent."),
    CatalogField("categories", terms, "By which apps exclude it (A6)."),
    CatalogField("keywords", terms, "By which apps exclude it (A6)."),
    CatalogField("isPaused", .flag, "Not served while true; false when absent."),
  ]

  static let developer = [id("developer"), name]

  static let app = [
    id("app"), CatalogField("developer", .slug, isRequired: true, "Who earns: the id of a developer."), name,
    CatalogField("bundleID", .text(bytesMaximum: 155), isRequired: true, "As in com.example.weather; never changes."),
    CatalogField("isAgreementSigned", .flag, "The first step of setting up (A9); false when absent."),
    CatalogField(
      "isUnder17", .nullable(.flag),
      "The second step (A9): is the app aimed at users under 17? Once true, always true (A4); null for no answer yet."),
    CatalogField("areAdsEnabled", .flag, "The third step (A9); false when absent."),
    CatalogField("categories", terms, "By which campaigns find it (A6)."),
    CatalogField(
      "shareBasisPoints", .integer(0...Int64(RevenueShare.whole)),
      "The developer's share (B2); \(RevenueShare.standard) when absent."),
    CatalogField(
      "exclusions",
      .object([
        CatalogField("advertisers", .list(.slug), "Ids of advertisers."), CatalogField("categories", terms, "Of ads."),
        CatalogField("keywords", terms, "Of ads."),
        CatalogField("hosts", .list(.text(bytesMaximum: 253)), "Of destinations, with their subdomains."),
      ]), "The kinds of ads it does not show (A6)."),
  ]

  static let appKey = [
    CatalogField("app", .slug, isRequired: true, "The id of an app."),
    CatalogField(
      "build", .choice(BuildKind.allCases.map(\.name)), isRequired: true,
      "The build that carries the key (A1): only distribution gets live ads."),
    CatalogField(
      "key", .text(bytesMaximum: 256),
      "The key itself, at least 16 bytes, kept as its SHA-256 only. Absent, with no keyHash: one is made, and shown once, "
        + "unless the app has one of this build."),
    CatalogField("keyHash", .hexadecimal(bytes: 32), "The SHA-256 of a key, in place of the key."),
    CatalogField("isRevoked", .flag, "Requests with it get configurationError while true; false when absent."),
  ]

  static let settings = [
    CatalogField("countries", countries, isRequired: true, "Where the network operates (A5)."),
    CatalogField(
      "testFillBasisPoints", .integer(0...10_000), "Of 10,000 test requests so many are filled (A2); 8000 when absent."),
    CatalogField(
      "testErrorBasisPoints", .integer(0...10_000), "Of 10,000 test requests so many get an error; 500 when absent."),
    CatalogField(
      "standing",
      .object([
        CatalogField(
          "days", .integer(StandingRules.daysRange),
          "How many days count, today included, each less than the one after it; \(rules.days) when absent."),
        CatalogField(
          "priorTaps", .integer(StandingRules.priorTapsRange),
          "Taps without a stopped action that every app is taken to have had; \(rules.priorTaps) when absent."),
        CatalogField(
          "toleratedBasisPoints", .integer(0...StandingRules.wholeBasisPoints),
          "The share of stopped actions up to which everything is offered; \(rules.toleratedBasisPoints) when absent."),
        CatalogField(
          "floorBasisPoints", .integer(0...StandingRules.wholeBasisPoints),
          "What is offered to an app that stops every action, \(StandingRules.wholeBasisPoints) to lower nobody; "
            + "\(rules.floorBasisPoints) when absent."),
      ]), "What apps are offered that block or cancel ads' actions (A7)."),
    CatalogField(
      "currencyRates", .currencies(.integer(CurrencyRate.range)),
      "What a unit of each currency is worth, in millionths of the network's own unit (\(CurrencyRate.whole) when absent): by "
        + "it ads of several currencies are put in order, and no amount is booked."),
  ]
  private static let rules = StandingRules()

  static let standing = [
    CatalogField("app", .slug, isRequired: true, "The id of an app."),
    CatalogField(
      "offerPartsPerMillion", .integer(0...AppStanding.whole), isRequired: true,
      "Of a million of its requests so many may get a paid ad."),
    CatalogField(
      "stopped", .integer(0...Int64.max), isRequired: true, "Ads whose action it stopped, over the days that count."),
    CatalogField("tapped", .integer(0...Int64.max), isRequired: true, "Ads that were tapped, those among them."),
  ]
}

extension Campaign.Kind {
  var catalogName: String {
    switch self {
    case .brand: "brand"
    case .developer: "developer"
    case .house: "house"
    }
  }
}
