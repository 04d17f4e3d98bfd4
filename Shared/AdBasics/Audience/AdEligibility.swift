/// The rules by which an ad may be shown in an app (S4, A4, A6 and the flight of B4), one ad at a time. Ad selection
/// asks them of all ads at once through an index; this is what the index must agree with.
public enum AdEligibility {
  /// The rules in the order in which they are asked, whatever their numbers: an ad that breaks several counts under the
  /// first of them.
  public static let order: [NoServeReason] =
    [.paidAdsSuspended, .paidAdsWithheld] + lasting + ofRequest + [.noAllotment]

  /// The rules that ask for the catalogue and the hour alone.
  public static let lasting: [NoServeReason] = [.paused, .notYetStarted, .outsideFlight]

  /// The rules that ask for the request and its app.
  public static let ofRequest: [NoServeReason] = [
    .countryNotTargeted, .deviceNotTargeted, .imageMissing, .sizeNotTargeted, .audienceUnder17,
    .appCategoryNotTargeted, .segmentNotTargeted, .advertiserExcluded, .categoryExcluded, .keywordExcluded,
    .hostExcluded,
  ]

  /// What the rules need to know of a request.
  public struct Request: Hashable, Sendable {
    public var country: Country
    public var device: Device
    /// Resolved, none empty (S4).
    public var requiredSizes: [AdSize]
    public var segments: [String]

    public init(country: Country, device: Device, requiredSizes: [AdSize], segments: [String]) {
      self.country = country
      self.device = device
      self.requiredSizes = requiredSizes
      self.segments = segments
    }
  }

  /// What the rules need to know of an app.
  public struct AppProfile: Hashable, Sendable {
    /// An audience not yet answered is treated as the stricter one.
    public let isUnder17: Bool
    public let categories: Set<String>
    public let exclusions: Exclusions

    public init(_ app: App) {
      isUnder17 = app.isUnder17 ?? true
      categories = app.categories
      exclusions = app.exclusions
    }
  }

  /// What the rules need to know of an ad and its campaign, but for the flight.
  public struct Subject {
    public let ad: Ad
    public let advertiser: AdvertiserID
    public let targeting: Targeting

    public init(ad: Ad, advertiser: AdvertiserID, targeting: Targeting) {
      self.ad = ad
      self.advertiser = advertiser
      self.targeting = targeting
    }
  }

  /// The first of the ``lasting`` rules that is broken.
  public static func reasonAgainst(
    isPaused: Bool, flight: (start: Timestamp, end: Timestamp), now: Timestamp
  ) -> NoServeReason? {
    lasting.first { rule in
      switch rule {
      case .paused: isPaused
      case .notYetStarted: now < flight.start
      case .outsideFlight: now >= flight.end
      default: false
      }
    }
  }

  /// The first of the rules ``ofRequest`` that is broken.
  public static func reasonAgainst(_ subject: Subject, for request: Request, in app: AppProfile) -> NoServeReason? {
    ofRequest.first { subject.breaks($0, for: request, in: app) }
  }
}

extension AdEligibility.Subject {
  fileprivate func breaks(
    _ rule: NoServeReason, for request: AdEligibility.Request, in app: AdEligibility.AppProfile
  ) -> Bool {
    switch rule {
    case .countryNotTargeted: !targeting.countries.isEmpty && !targeting.countries.contains(request.country)
    case .deviceNotTargeted: !targeting.devices.isEmpty && !targeting.devices.contains(request.device)
    case .imageMissing: !SizeSelection.isServed(required: request.requiredSizes, by: ad.images)
    case .sizeNotTargeted: !targeting.sizes.isEmpty && !targeting.sizes.isSuperset(of: request.requiredSizes)
    case .audienceUnder17: !targeting.allowsUnder17 && app.isUnder17
    case .appCategoryNotTargeted:
      !targeting.appCategories.isEmpty && targeting.appCategories.isDisjoint(with: app.categories)
    case .segmentNotTargeted: !targeting.segments.isEmpty && targeting.segments.isDisjoint(with: request.segments)
    case .advertiserExcluded: app.exclusions.advertisers.contains(advertiser)
    case .categoryExcluded: !app.exclusions.categories.isDisjoint(with: ad.categories)
    case .keywordExcluded: !app.exclusions.keywords.isDisjoint(with: ad.keywords)
    case .hostExcluded: app.exclusions.excludesHost(of: ad.action.destination)
    case .paidAdsSuspended, .paidAdsWithheld, .paused, .notYetStarted, .outsideFlight, .noAllotment: false
    }
  }
}

extension Exclusions {
  /// Whether the host of `destination` (a URL) is an excluded one, or a subdomain of one.
  public func excludesHost(of destination: String) -> Bool {
    guard !hosts.isEmpty, let host = URLText.host(of: destination) else { return false }
    return URLText.domains(of: host).contains { hosts.contains($0) }
  }
}

extension NetworkSettings {
  /// Whether the network operates in `country` (A5); elsewhere a request gets no inventory.
  public func isServed(_ country: Country) -> Bool { countries.contains(country) }
}
