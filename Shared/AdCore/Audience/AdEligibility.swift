/// The rules by which an ad may be shown in an app (S4, A4, A6 and the flight of B4), one ad at a time. Ad selection
/// asks them of all ads at once through an index; this is what the index must agree with.
public enum AdEligibility {
  /// What the rules need to know of a request.
  public struct Request: Hashable, Sendable {
    public var country: Country
    public var device: Device
    /// Resolved, none empty (S4).
    public var requiredSizes: [AdSize]
    public var segments: Set<String>

    public init(country: Country, device: Device, requiredSizes: [AdSize], segments: Set<String>) {
      self.country = country
      self.device = device
      self.requiredSizes = requiredSizes
      self.segments = segments
    }
  }

  /// The first rule that keeps `ad` from being served; nil where none does. Allotments are not asked for here.
  public static func reasonAgainst(
    _ ad: Ad, of campaign: Campaign, in app: App, request: Request, now: Timestamp
  ) -> NoServeReason? {
    if campaign.isPaused || ad.isPaused { return .paused }
    if now < campaign.flightStart { return .notYetStarted }
    if now >= campaign.flightEnd { return .outsideFlight }
    return campaign.targeting.mismatch(with: request, in: app, images: ad.images)
      ?? app.exclusions.match(ad, advertiser: campaign.advertiser)
  }
}

extension Targeting {
  /// The first rule of targeting that a request breaks (A4, A6), and S4 among them.
  fileprivate func mismatch(
    with request: AdEligibility.Request, in app: App, images: [AdSize: String]
  ) -> NoServeReason? {
    if !countries.isEmpty && !countries.contains(request.country) { return .countryNotTargeted }
    if !devices.isEmpty && !devices.contains(request.device) { return .deviceNotTargeted }
    if !SizeSelection.isServed(required: request.requiredSizes, by: images) { return .imageMissing }
    if !sizes.isEmpty && !sizes.isSuperset(of: request.requiredSizes) { return .sizeNotTargeted }
    // An audience not yet answered is treated as the stricter one.
    if !allowsUnder17 && app.isUnder17 ?? true { return .audienceUnder17 }
    if !appCategories.isEmpty && appCategories.isDisjoint(with: app.categories) { return .appCategoryNotTargeted }
    if !segments.isEmpty && segments.isDisjoint(with: request.segments) { return .segmentNotTargeted }
    return nil
  }
}

extension Exclusions {
  /// The first exclusion that `ad` falls under (A6); nil where the app takes it.
  public func match(_ ad: Ad, advertiser: AdvertiserID) -> NoServeReason? {
    if advertisers.contains(advertiser) { return .advertiserExcluded }
    if !categories.isDisjoint(with: ad.categories) { return .categoryExcluded }
    if !keywords.isDisjoint(with: ad.keywords) { return .keywordExcluded }
    return excludesHost(of: ad.action.destination) ? .hostExcluded : nil
  }

  /// Whether the host of `destination` (a URL) is an excluded one, or a subdomain of one.
  public func excludesHost(of destination: String) -> Bool {
    guard !hosts.isEmpty, let host = URLText.host(of: destination) else { return false }
    var rest = host[...]
    while true {
      if hosts.contains(String(rest)) { return true }
      guard let dot = rest.firstIndex(of: ".") else { return false }
      rest = rest[rest.index(after: dot)...]
    }
  }
}

extension NetworkSettings {
  /// Whether the network operates in `country` (A5); elsewhere a request gets no inventory.
  public func isServed(_ country: Country) -> Bool { countries.contains(country) }
}
