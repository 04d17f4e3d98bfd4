internal import AdCore

/// For each rule of eligibility the set of candidates that keep it, so that a request is judged against the whole
/// catalogue by a few intersections. It says the same as AdCore's rules asked ad by ad, which a test compares.
struct EligibilityIndex: Sendable {
  let all: AdSet
  let paid: AdSet
  let running: AdSet
  let allowsUnder17: AdSet
  let images: [AdSize: AdSet]
  let countries: Dimension<Country>
  let devices: Dimension<Device>
  let sizes: Dimension<AdSize>
  let appCategories: Dimension<String>
  let segments: Dimension<String>
  let excluded: [AppID: ExcludedAds]
  let none: AdSet
  private let candidates: [Candidate]
  private let flights: Flights

  /// What an app's exclusions take from its inventory (A6), by kind.
  struct ExcludedAds: Sendable {
    var advertisers: AdSet
    var categories: AdSet
    var keywords: AdSet
    var hosts: AdSet
  }

  /// The ads by their flights, true from `from` until before `until`.
  struct Flights: Sendable {
    /// Not yet begun, and over.
    var coming: AdSet
    var over: AdSet
    var from: Timestamp
    var until: Timestamp

    init(candidates: [Candidate], now: Timestamp) {
      coming = AdSet(capacity: candidates.count)
      over = AdSet(capacity: candidates.count)
      from = Timestamp(milliseconds: .min)
      until = Timestamp(milliseconds: .max)
      for (position, candidate) in candidates.enumerated() {
        if now < candidate.flightStart {
          coming.insert(position)
        } else if now >= candidate.flightEnd {
          over.insert(position)
        }
        for edge in [candidate.flightStart, candidate.flightEnd] {
          if edge <= now { from = max(from, edge) } else { until = min(until, edge) }
        }
      }
    }
  }

  init(candidates: [Candidate], apps: [AppID: App], now: Timestamp) {
    let count = candidates.count
    self.candidates = candidates
    none = AdSet(capacity: count)
    all = AdSet(allBelow: count)
    paid = candidates.positions { $0.kind != .house }
    running = candidates.positions { !$0.isPaused }
    allowsUnder17 = candidates.positions { $0.targeting.allowsUnder17 }
    var images: [AdSize: AdSet] = [:]
    for size in AdSize.allCases { images[size] = candidates.positions { $0.ad.images[size] != nil } }
    self.images = images
    countries = Dimension(candidates.map(\.targeting.countries))
    devices = Dimension(candidates.map(\.targeting.devices))
    sizes = Dimension(candidates.map(\.targeting.sizes))
    appCategories = Dimension(candidates.map(\.targeting.appCategories))
    segments = Dimension(candidates.map(\.targeting.segments))
    flights = Flights(candidates: candidates, now: now)
    let subjects = ExclusionSubjects(candidates)
    excluded = apps.compactMapValues { app in
      app.exclusions == Exclusions() ? nil : subjects.excluded(by: app.exclusions, capacity: count)
    }
  }

  /// Whether no flight has begun or ended since the index was built.
  func isCurrent(at now: Timestamp) -> Bool { flights.from <= now && now < flights.until }

  /// The flights as of `now`: at hand unless one has begun or ended since the index was built.
  func flights(at now: Timestamp) -> Flights {
    isCurrent(at: now) ? flights : Flights(candidates: candidates, now: now)
  }
}

/// Who may see a candidate by one kind of targeting: an empty target means everybody.
struct Dimension<Value: Hashable & Sendable>: Sendable {
  private let everybody: AdSet
  private var byValue: [Value: AdSet] = [:]

  init(_ targets: [Set<Value>]) {
    var everybody = AdSet(capacity: targets.count)
    for (position, target) in targets.enumerated() where target.isEmpty { everybody.insert(position) }
    self.everybody = everybody
    for (position, target) in targets.enumerated() {
      for value in target { byValue[value, default: everybody].insert(position) }
    }
  }

  /// The candidates for `value`.
  subscript(value: Value) -> AdSet { byValue[value] ?? everybody }

  /// The candidates for at least one of `values`, or for everybody.
  func anyOf(_ values: some Sequence<Value>) -> AdSet {
    var union = everybody
    for value in values {
      if let set = byValue[value] { union.formUnion(set) }
    }
    return union
  }
}

/// What exclusions can name, with the candidates it stands for.
private struct ExclusionSubjects {
  private var advertisers: [AdvertiserID: AdSet] = [:]
  private var categories: [String: AdSet] = [:]
  private var keywords: [String: AdSet] = [:]
  private var hosts: [String: AdSet] = [:]

  init(_ candidates: [Candidate]) {
    let empty = AdSet(capacity: candidates.count)
    for (position, candidate) in candidates.enumerated() {
      advertisers[candidate.advertiser, default: empty].insert(position)
      for category in candidate.ad.categories { categories[category, default: empty].insert(position) }
      for keyword in candidate.ad.keywords { keywords[keyword, default: empty].insert(position) }
      hosts[candidate.ad.action.destination, default: empty].insert(position)
    }
  }

  func excluded(by exclusions: Exclusions, capacity: Int) -> EligibilityIndex.ExcludedAds {
    func union<Key>(_ sets: [Key: AdSet], _ names: Set<Key>) -> AdSet {
      var union = AdSet(capacity: capacity)
      for name in names {
        if let set = sets[name] { union.formUnion(set) }
      }
      return union
    }
    var byHost = AdSet(capacity: capacity)
    if !exclusions.hosts.isEmpty {
      for (destination, set) in hosts where exclusions.excludesHost(of: destination) { byHost.formUnion(set) }
    }
    return EligibilityIndex.ExcludedAds(
      advertisers: union(advertisers, exclusions.advertisers), categories: union(categories, exclusions.categories),
      keywords: union(keywords, exclusions.keywords), hosts: byHost)
  }
}

extension [Candidate] {
  fileprivate func positions(where keeps: (Candidate) -> Bool) -> AdSet {
    var set = AdSet(capacity: count)
    for (position, candidate) in enumerated() where keeps(candidate) { set.insert(position) }
    return set
  }
}
