/// One record of the catalogue: what the console keeps, publishes whole on `ads.catalog`, and ad selection and billing
/// hold in memory.
public enum CatalogRecord: Hashable, Sendable {
  case advertiser(Advertiser)
  case campaign(Campaign)
  case ad(Ad)
  case developer(Developer)
  case app(App)
  case appKey(AppKey)
  case settings(NetworkSettings)
  case standing(AppStanding)
}

/// What an ad does when tapped (D11).
public struct AdAction: Hashable, Sendable {
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// Covers the screen inside the app; brand ads do.
    case cover = 1
    /// Leaves the application; developer ads lead to the store.
    case leave = 2
  }

  public var kind: Kind
  /// A URL.
  public var destination: String

  public init(kind: Kind, destination: String) {
    self.kind = kind
    self.destination = destination
  }
}

/// Who pays.
public struct Advertiser: Hashable, Sendable {
  public var id: AdvertiserID
  public var name: String
  public var currency: Currency
  /// An IANA time zone: budget days are cut in it.
  public var timeZone: String
  /// What the account can be charged in all, across its campaigns.
  public var accountFunding: Int128

  public init(id: AdvertiserID, name: String, currency: Currency, timeZone: String, accountFunding: Int128) {
    self.id = id
    self.name = name
    self.currency = currency
    self.timeZone = timeZone
    self.accountFunding = accountFunding
  }
}

/// A campaign (B1, B4) with its targeting (A4 to A6).
public struct Campaign: Hashable, Sendable {
  public enum Kind: UInt8, CaseIterable, Sendable {
    /// Pays for impressions and clicks (B1).
    case brand = 1
    /// App promotion: pays for clicks only (B1).
    case developer = 2
    /// The network's or an app's own: pays nothing, needs no allotment.
    case house = 3
  }

  public var id: CampaignID
  public var advertiser: AdvertiserID
  public var name: String
  public var kind: Kind
  /// CPM in micros, number for number; 0 for a developer campaign.
  public var impressionPrice: Nanos
  public var clickPrice: Nanos
  /// Nanos; never charged beyond (B4).
  public var totalBudget: Int128
  /// Nanos per budget day; nil for no daily limit.
  public var dailyBudget: Int128?
  /// The flight: first moment, and the moment after the last.
  public var flightStart: Timestamp
  public var flightEnd: Timestamp
  public var isPaused: Bool
  public var targeting: Targeting

  public init(
    id: CampaignID, advertiser: AdvertiserID, name: String, kind: Kind, impressionPrice: Nanos, clickPrice: Nanos,
    totalBudget: Int128, dailyBudget: Int128?, flightStart: Timestamp, flightEnd: Timestamp, isPaused: Bool,
    targeting: Targeting
  ) {
    self.id = id
    self.advertiser = advertiser
    self.name = name
    self.kind = kind
    self.impressionPrice = impressionPrice
    self.clickPrice = clickPrice
    self.totalBudget = totalBudget
    self.dailyBudget = dailyBudget
    self.flightStart = flightStart
    self.flightEnd = flightEnd
    self.isPaused = isPaused
    self.targeting = targeting
  }
}

/// Whom a campaign is for (A4, A6). An empty set means everybody.
public struct Targeting: Hashable, Sendable {
  public var countries: Set<Country>
  public var devices: Set<Device>
  public var sizes: Set<AdSize>
  /// May be shown in apps aimed at users under 17 (A4).
  public var allowsUnder17: Bool
  public var appCategories: Set<String>
  public var segments: Set<String>

  public init(
    countries: Set<Country> = [], devices: Set<Device> = [], sizes: Set<AdSize> = [], allowsUnder17: Bool = false,
    appCategories: Set<String> = [], segments: Set<String> = []
  ) {
    self.countries = countries
    self.devices = devices
    self.sizes = sizes
    self.allowsUnder17 = allowsUnder17
    self.appCategories = appCategories
    self.segments = segments
  }
}

/// An ad of a campaign: its images, its action, its life.
public struct Ad: Hashable, Sendable {
  public var id: AdID
  public var campaign: CampaignID
  /// URL of the image for each size it has (S4).
  public var images: [AdSize: String]
  public var action: AdAction
  /// 5 to 15 minutes, in milliseconds (D5).
  public var lifetimeMilliseconds: Int64
  public var categories: Set<String>
  public var keywords: Set<String>
  public var isPaused: Bool

  public init(
    id: AdID, campaign: CampaignID, images: [AdSize: String], action: AdAction, lifetimeMilliseconds: Int64,
    categories: Set<String> = [], keywords: Set<String> = [], isPaused: Bool = false
  ) {
    self.id = id
    self.campaign = campaign
    self.images = images
    self.action = action
    self.lifetimeMilliseconds = lifetimeMilliseconds
    self.categories = categories
    self.keywords = keywords
    self.isPaused = isPaused
  }
}

/// Who earns.
public struct Developer: Hashable, Sendable {
  public var id: DeveloperID
  public var name: String

  public init(id: DeveloperID, name: String) {
    self.id = id
    self.name = name
  }
}

/// An app, set up step by step (A9).
public struct App: Hashable, Sendable {
  public var id: AppID
  public var developer: DeveloperID
  public var name: String
  public var bundleID: String
  public var isAgreementSigned: Bool
  /// Nil until answered (A9); true can never be taken back for the bundle id (A4).
  public var isUnder17: Bool?
  public var areAdsEnabled: Bool
  public var categories: Set<String>
  /// The developer's share in basis points (B2).
  public var shareBasisPoints: UInt16
  public var exclusions: Exclusions

  public init(
    id: AppID, developer: DeveloperID, name: String, bundleID: String, isAgreementSigned: Bool, isUnder17: Bool?,
    areAdsEnabled: Bool, categories: Set<String> = [], shareBasisPoints: UInt16 = RevenueShare.standard,
    exclusions: Exclusions = Exclusions()
  ) {
    self.id = id
    self.developer = developer
    self.name = name
    self.bundleID = bundleID
    self.isAgreementSigned = isAgreementSigned
    self.isUnder17 = isUnder17
    self.areAdsEnabled = areAdsEnabled
    self.categories = categories
    self.shareBasisPoints = shareBasisPoints
    self.exclusions = exclusions
  }
}

/// The kinds of ads an app does not want (A6).
public struct Exclusions: Hashable, Sendable {
  public var advertisers: Set<AdvertiserID>
  public var categories: Set<String>
  public var keywords: Set<String>
  /// Hosts of destinations, with their subdomains.
  public var hosts: Set<String>

  public init(
    advertisers: Set<AdvertiserID> = [], categories: Set<String> = [], keywords: Set<String> = [],
    hosts: Set<String> = []
  ) {
    self.advertisers = advertisers
    self.categories = categories
    self.keywords = keywords
    self.hosts = hosts
  }
}

/// An app's key for one build kind (A1). The key itself is kept as its SHA-256.
public struct AppKey: Hashable, Sendable {
  public var app: AppID
  public var build: BuildKind
  /// SHA-256 of the key, 32 bytes.
  public var keyHash: [UInt8]
  public var isRevoked: Bool

  public init(app: AppID, build: BuildKind, keyHash: [UInt8], isRevoked: Bool = false) {
    self.app = app
    self.build = build
    self.keyHash = keyHash
    self.isRevoked = isRevoked
  }
}

/// An app's key, and whom its app is for.
package struct KnownAppKey: Hashable, Sendable {
  package var key: AppKey
  /// So, or not answered yet (A4).
  package var isUnder17: Bool

  package init(key: AppKey, isUnder17: Bool) {
    self.key = key
    self.isUnder17 = isUnder17
  }
}

/// What the network as a whole sets.
public struct NetworkSettings: Hashable, Sendable {
  /// Where the network operates (A5).
  public var countries: Set<Country>
  /// Test ads: how many of 10,000 test requests are filled (A2).
  public var testFillBasisPoints: UInt16
  /// Test ads: how many of 10,000 test requests get an injected error (A2).
  public var testErrorBasisPoints: UInt16
  /// What apps are offered that stop ads' actions (A7).
  public var standing: StandingRules
  /// What a unit of a currency is worth, in millionths of the network's own unit: auctions order ads by it, and no amount
  /// is booked by it.
  public var currencyRates: [Currency: Int64]

  public init(
    countries: Set<Country>, testFillBasisPoints: UInt16 = 8_000, testErrorBasisPoints: UInt16 = 500,
    standing: StandingRules = StandingRules(), currencyRates: [Currency: Int64] = [:]
  ) {
    self.countries = countries
    self.testFillBasisPoints = testFillBasisPoints
    self.testErrorBasisPoints = testErrorBasisPoints
    self.standing = standing
    self.currencyRates = currencyRates
  }
}
