internal import Hashes

/// What the terms of many serves have in common: parties, prices, share, and how long an impression counts. Tables hold
/// each once, under a hash of its content. What varies freely from serve to serve (partition, place, country, device, size,
/// client, allotment) is no part of it, so that they stay few.
public struct FrozenTerms: Hashable, Sendable {
  public let app: AppID
  public let developer: DeveloperID
  public let advertiser: AdvertiserID
  public let campaign: CampaignID
  public let ad: AdID
  public let impressionPrice: Nanos
  public let clickPrice: Nanos
  public let currency: Currency
  public let shareBasisPoints: UInt16
  /// From the decision to the last event time at which an impression counts.
  public let lifeMilliseconds: Int64
  public let isTest: Bool

  public init(
    app: AppID, developer: DeveloperID, advertiser: AdvertiserID, campaign: CampaignID, ad: AdID,
    impressionPrice: Nanos, clickPrice: Nanos, currency: Currency, shareBasisPoints: UInt16, lifeMilliseconds: Int64,
    isTest: Bool
  ) {
    self.app = app
    self.developer = developer
    self.advertiser = advertiser
    self.campaign = campaign
    self.ad = ad
    self.impressionPrice = impressionPrice
    self.clickPrice = clickPrice
    self.currency = currency
    self.shareBasisPoints = shareBasisPoints
    self.lifeMilliseconds = lifeMilliseconds
    self.isTest = isTest
  }

  public init(_ terms: ServedTerms) {
    app = terms.app
    developer = terms.developer
    advertiser = terms.advertiser
    campaign = terms.campaign
    ad = terms.ad
    impressionPrice = terms.impressionPrice
    clickPrice = terms.clickPrice
    currency = terms.currency
    shareBasisPoints = terms.shareBasisPoints
    lifeMilliseconds = terms.expiresAt.milliseconds(since: terms.issuedAt)
    isTest = terms.isTest
  }

  /// What is hashed: the fields in their order, between slashes, which no name contains. `public.terms_name` in the
  /// database makes the same.
  var canonicalText: String {
    let names = [app.text, developer.text, advertiser.text, campaign.text, ad.text]
    let numbers = ["\(impressionPrice.value)", "\(clickPrice.value)", currency.text, "\(shareBasisPoints)"]
    return (names + numbers + ["\(lifeMilliseconds)", isTest ? "t" : "f"]).joined(separator: "/")
  }
}

extension FrozenTerms: FrozenContent {
  public var name: Int64 { Self.name(of: canonicalText) }
}

/// What tables hold once, under a hash of its content.
public protocol FrozenContent: Hashable, Sendable {
  /// The first 8 bytes of the SHA-256 of all of it. Whoever stores it makes sure that nothing else has the same name.
  var name: Int64 { get }
}

extension FrozenContent {
  static func name(of text: String) -> Int64 {
    SoftwareSHA256.hash(text.utf8).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
  }
}
