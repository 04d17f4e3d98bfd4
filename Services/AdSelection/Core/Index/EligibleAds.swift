internal import AdCore

/// What rules ask of a request. Requests that are alike in a part share the ads that keep its rules: there are far fewer
/// different parts than different requests, so that those ads stay in the processor's cache.
enum QueryPart: CaseIterable {
  /// Country, device and sizes.
  case inventory
  case app
  case segments
}

extension NoServeReason {
  /// The part of a request that the rule asks for; nil where it asks for none.
  var part: QueryPart? {
    switch self {
    case .countryNotTargeted, .deviceNotTargeted, .imageMissing, .sizeNotTargeted: .inventory
    case .audienceUnder17, .appCategoryNotTargeted, .advertiserExcluded, .categoryExcluded, .keywordExcluded,
      .hostExcluded:
      .app
    case .segmentNotTargeted: .segments
    case .paidAdsSuspended, .paidAdsWithheld, .paused, .notYetStarted, .outsideFlight, .noAllotment: nil
    }
  }
}

/// The ads that keep the rules of a part of a request.
struct PartAds: Sendable {
  /// Those that keep all of them.
  private(set) var all: AdSet
  /// For each rule that some ad breaks, those that keep it, in the order of the rules.
  private(set) var rules: [(reason: NoServeReason, kept: AdSet)] = []

  /// - Parameter kept: the ads that keep a rule; nil for all.
  init(_ part: QueryPart, capacity: Int, kept: (NoServeReason) -> AdSet?) {
    all = AdSet(allBelow: capacity)
    for reason in AdEligibility.ofRequest where reason.part == part {
      guard let kept = kept(reason) else { continue }
      all.formIntersection(kept)
      rules.append((reason, kept))
    }
  }

  func ads(keeping rule: NoServeReason) -> AdSet? { rules.first { $0.reason == rule }?.kept }

  /// What it takes in memory.
  var bytes: Int { all.bytes * (1 + rules.count) }
}

/// The ads that keep all rules of a request, live or not.
struct EligibleAds: Sendable {
  let inventory: PartAds
  let app: PartAds
  let segments: PartAds

  /// Those of a word of the index.
  subscript(word: Int) -> UInt64 {
    inventory.all.words[word] & app.all.words[word] & segments.all.words[word]
  }

  subscript(part: QueryPart) -> PartAds {
    switch part {
    case .inventory: inventory
    case .app: app
    case .segments: segments
    }
  }

  func contains(_ position: Int) -> Bool {
    inventory.all.contains(position) && app.all.contains(position) && segments.all.contains(position)
  }
}
