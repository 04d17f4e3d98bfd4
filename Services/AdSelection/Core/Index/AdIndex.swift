internal import AdCore
internal import Synchronization

/// Ads in the order of an auction, and for each rule the ads that keep it: so a request is judged against all of them by
/// a few words of bits. It never changes; what changes from moment to moment is beside it (``Liveness``,
/// ``SellableAds``). It says the same as AdCore's rules asked ad by ad, which tests compare.
package final class AdIndex: Sendable {
  /// A flight begins or ends.
  struct FlightEdge: Hashable, Comparable, Sendable {
    let at: Timestamp
    let position: Int32

    static func < (left: FlightEdge, right: FlightEdge) -> Bool {
      (left.at, left.position) < (right.at, right.position)
    }
  }

  /// Paid ads by falling expected value, then house ads; equals by id.
  package let candidates: [Candidate]
  /// By position, side by side: those of a campaign are looked at together.
  let prices: [AdPrice]
  /// Paid ads lie below it.
  let paidCount: Int
  /// For each position the end of those that are worth as much.
  let groupEnds: [Int32]
  let positions: [AdID: Int32]
  let campaigns: [CampaignID: [Int32]]
  /// When flights begin and end, ascending; of one ad no moment twice.
  let flightEdges: [FlightEdge]

  private let allowsUnder17: AdSet
  private let images: [AdSize: AdSet]
  private let countries: Dimension<Country>
  private let devices: Dimension<Device>
  private let sizes: Dimension<AdSize>
  private let appCategories: Dimension<String>
  private let segments: Dimension<String>
  private let advertisers: Positions<AdvertiserID>
  private let categories: Positions<String>
  private let keywords: Positions<String>
  /// By each domain that an ad's destination lies in.
  private let hosts: Positions<String>
  private let remembered: Mutex<RememberedMatches>

  /// - Parameters:
  ///   - candidates: in their order.
  ///   - rememberedBytesMaximum: of what is remembered of requests.
  init(_ candidates: [Candidate], rememberedBytesMaximum: Int = RememberedMatches.bytesMaximum) {
    self.candidates = candidates
    remembered = Mutex(RememberedMatches(bytesMaximum: rememberedBytesMaximum))
    prices = candidates.map(\.price)
    paidCount = candidates.firstIndex { $0.isHouse } ?? candidates.count
    groupEnds = AdIndex.groupEnds(candidates)
    positions = Dictionary(
      uniqueKeysWithValues: candidates.enumerated().map { ($1.ad.id, Int32(truncatingIfNeeded: $0)) })
    campaigns = Dictionary(grouping: candidates.indices.map { Int32(truncatingIfNeeded: $0) }) {
      candidates[Int($0)].campaign
    }
    flightEdges = Set(
      candidates.enumerated().flatMap { position, candidate in
        [candidate.flightStart, candidate.flightEnd].map {
          FlightEdge(at: $0, position: Int32(truncatingIfNeeded: position))
        }
      }
    ).sorted()
    allowsUnder17 = AdSet(capacity: candidates.count) { candidates[$0].targeting.allowsUnder17 }
    images = Dictionary(
      uniqueKeysWithValues: AdSize.allCases.map { size in
        (size, AdSet(capacity: candidates.count) { candidates[$0].ad.images[size] != nil })
      })
    countries = Dimension(candidates.map(\.targeting.countries))
    devices = Dimension(candidates.map(\.targeting.devices))
    sizes = Dimension(candidates.map(\.targeting.sizes))
    appCategories = Dimension(candidates.map(\.targeting.appCategories))
    segments = Dimension(candidates.map(\.targeting.segments))
    advertisers = Positions(candidates.map { CollectionOfOne($0.advertiser) })
    categories = Positions(candidates.map(\.ad.categories))
    keywords = Positions(candidates.map(\.ad.keywords))
    hosts = Positions(
      candidates.map { URLText.host(of: $0.ad.action.destination).map(URLText.domains) ?? [] })
  }

  private static func groupEnds(_ candidates: [Candidate]) -> [Int32] {
    var ends = Array(repeating: Int32(truncatingIfNeeded: candidates.count), count: candidates.count)
    for position in candidates.indices.dropLast().reversed() {
      let isLast = candidates[position].worth != candidates[position + 1].worth
      ends[position] = isLast ? Int32(truncatingIfNeeded: position + 1) : ends[position + 1]
    }
    return ends
  }

  /// How many of its ads are worth at least `worth`.
  func count(worthAtLeast worth: AdWorth) -> Int {
    var (low, high) = (0, candidates.count)
    while low < high {
      let middle = (low + high) / 2
      if candidates[middle].worth < worth { high = middle } else { low = middle + 1 }
    }
    return low
  }

  func isHouse(_ position: Int) -> Bool { position >= paidCount }

  /// The ads that keep `rule`, for a request.
  private func ads(keeping rule: NoServeReason, for query: AdQuery) -> AdSet? {
    let request = query.request
    let profile = query.app.profile
    switch rule {
    case .countryNotTargeted: return countries[request.country]
    case .deviceNotTargeted: return devices[request.device]
    case .imageMissing: return ads(of: request.requiredSizes) { images[$0] ?? AdSet(capacity: candidates.count) }
    case .sizeNotTargeted: return ads(of: request.requiredSizes) { sizes[$0] }
    case .audienceUnder17: return profile.isUnder17 ? allowsUnder17 : nil
    case .appCategoryNotTargeted: return appCategories.anyOf(profile.categories)
    case .segmentNotTargeted: return segments.anyOf(request.segments)
    case .advertiserExcluded: return ads(without: profile.exclusions.advertisers, of: advertisers)
    case .categoryExcluded: return ads(without: profile.exclusions.categories, of: categories)
    case .keywordExcluded: return ads(without: profile.exclusions.keywords, of: keywords)
    case .hostExcluded: return ads(without: profile.exclusions.hosts, of: hosts)
    case .paidAdsSuspended, .paidAdsWithheld, .paused, .notYetStarted, .outsideFlight, .noAllotment: return nil
    }
  }

  /// The ads in the sets of all `sizes`; nil for all ads.
  private func ads(of sizes: [AdSize], _ set: (AdSize) -> AdSet) -> AdSet? {
    guard let first = sizes.first else { return nil }
    return sizes.dropFirst().reduce(into: set(first)) { $0.formIntersection(set($1)) }
  }

  /// The ads that have none of `values`; nil for all ads.
  private func ads<Value>(without values: Set<Value>, of positions: Positions<Value>) -> AdSet? {
    if values.isEmpty { return nil }
    var set = AdSet(allBelow: candidates.count)
    for value in values { set.remove(positions[value]) }
    return set
  }

  // MARK: What is remembered

  /// What is remembered takes so much, in bytes, about.
  var rememberedBytes: Int { remembered.withLock(\.bytes) }

  /// What the rules say of all ads for a query, as they are live now. Made at first use; all partitions share it.
  func matches(for query: AdQuery, liveness: Liveness) -> AdMatches {
    let key = AdMatches.Key(query, segments: segments.known(query.request.segments))
    let known = remembered.withLock { $0[key] }
    if let known, known.version == liveness.version { return known }
    let matches = known?.following(liveness, in: self) ?? firstMatches(for: query, key, liveness: liveness)
    remembered.withLock { $0.remember(matches, for: key) }
    return matches
  }

  private func firstMatches(for query: AdQuery, _ key: AdMatches.Key, liveness: Liveness) -> AdMatches {
    let known = remembered.withLock { $0.parts(of: key) }
    func part(_ part: QueryPart) -> PartAds {
      known[part] ?? PartAds(part, capacity: candidates.count) { ads(keeping: $0, for: query) }
    }
    let eligible = EligibleAds(inventory: part(.inventory), app: part(.app), segments: part(.segments))
    return AdMatches(query, eligible: eligible, in: self, liveness: liveness)
  }
}

/// What is remembered of an index, within a bound: when that is reached, all of it is forgotten.
struct RememberedMatches: Sendable {
  /// In bytes, about, if nothing else is said: at 100,000 ads, of some 4,000 different sets of segments.
  static let bytesMaximum = 64 << 20

  private let bytesMaximum: Int

  private var matches: [AdMatches.Key: AdMatches] = [:]
  /// The ads that keep the rules of a part. What its key names is kept alive by matches.
  private var parts: [PartKey: PartAds] = [:]
  private(set) var bytes = 0

  private enum PartKey: Hashable {
    case inventory(UInt64)
    case app(ObjectIdentifier)
    case segments(ValueSet)

    init(_ part: QueryPart, of key: AdMatches.Key) {
      switch part {
      case .inventory: self = .inventory(key.inventory)
      case .app: self = .app(key.app)
      case .segments: self = .segments(key.segments)
      }
    }
  }

  init(bytesMaximum: Int) { self.bytesMaximum = bytesMaximum }

  subscript(key: AdMatches.Key) -> AdMatches? { matches[key] }

  func parts(of key: AdMatches.Key) -> [QueryPart: PartAds] {
    var known: [QueryPart: PartAds] = [:]
    for part in QueryPart.allCases { known[part] = parts[PartKey(part, of: key)] }
    return known
  }

  mutating func remember(_ new: AdMatches, for key: AdMatches.Key) {
    let most = new.bytes + QueryPart.allCases.reduce(0) { $0 + new.eligible[$1].bytes }
    if bytes + most > bytesMaximum { self = RememberedMatches(bytesMaximum: bytesMaximum) }
    for part in QueryPart.allCases where parts.updateValue(new.eligible[part], forKey: PartKey(part, of: key)) == nil {
      bytes += new.eligible[part].bytes
    }
    bytes += new.bytes - (matches.updateValue(new, forKey: key)?.bytes ?? 0)
  }
}
