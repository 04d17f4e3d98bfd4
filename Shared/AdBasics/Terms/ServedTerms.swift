/// What was served to whom, at what price: frozen at the decision, carried by the serve token, billed as it stands (I2).
public struct ServedTerms: Hashable, Sendable {
  public var serveID: ServeID
  /// The partition number of everything that belongs to this ad, in every topic.
  public var partition: Int32
  public var issuedAt: Timestamp
  /// The last event time at which an impression counts.
  public var expiresAt: Timestamp
  public var app: AppID
  public var developer: DeveloperID
  public var advertiser: AdvertiserID
  public var campaign: CampaignID
  public var ad: AdID
  public var placement: PlacementID
  public var country: Country
  public var device: Device
  /// The size shown first: the request's current identifier, resolved.
  public var size: AdSize
  public var impressionPrice: Nanos
  public var clickPrice: Nanos
  public var currency: Currency
  /// The developer's share in basis points, 0 to 10,000 (B2).
  public var shareBasisPoints: UInt16
  /// The allotment the ad was sold from; 0 for an ad that needs none (test, house).
  public var allotment: UInt64
  /// The advertiser's budget day: days since 1970-01-01 in the advertiser's time zone.
  public var budgetDay: Int32
  /// A keyed hash of the client or session id: limits per client go by it; the id itself is stored nowhere (A8).
  public var clientHash: UInt64
  /// Test traffic: counted apart, never billed (A2, I8).
  public var isTest: Bool

  public init(
    serveID: ServeID, partition: Int32, issuedAt: Timestamp, expiresAt: Timestamp, app: AppID,
    developer: DeveloperID, advertiser: AdvertiserID, campaign: CampaignID, ad: AdID, placement: PlacementID,
    country: Country, device: Device, size: AdSize, impressionPrice: Nanos, clickPrice: Nanos, currency: Currency,
    shareBasisPoints: UInt16, allotment: UInt64, budgetDay: Int32, clientHash: UInt64, isTest: Bool
  ) {
    self.serveID = serveID
    self.partition = partition
    self.issuedAt = issuedAt
    self.expiresAt = expiresAt
    self.app = app
    self.developer = developer
    self.advertiser = advertiser
    self.campaign = campaign
    self.ad = ad
    self.placement = placement
    self.country = country
    self.device = device
    self.size = size
    self.impressionPrice = impressionPrice
    self.clickPrice = clickPrice
    self.currency = currency
    self.shareBasisPoints = shareBasisPoints
    self.allotment = allotment
    self.budgetDay = budgetDay
    self.clientHash = clientHash
    self.isTest = isTest
  }
}
