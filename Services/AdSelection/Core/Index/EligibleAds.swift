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
    case .paidAdsSuspended, .paused, .notYetStarted, .outsideFlight, .noAllotment: nil
    }
  }
}

/// The ads that keep all rules of a request, live or not.
struct EligibleAds: Sendable {
  private(set) var inventory: AdSet
  private(set) var app: AdSet
  private(set) var segments: AdSet

  /// All positions below `capacity`.
  init(allBelow capacity: Int) {
    inventory = AdSet(allBelow: capacity)
    (app, segments) = (inventory, inventory)
  }

  /// Those of a word of the index.
  subscript(word: Int) -> UInt64 { inventory.words[word] & app.words[word] & segments.words[word] }

  subscript(part: QueryPart) -> AdSet {
    get {
      switch part {
      case .inventory: inventory
      case .app: app
      case .segments: segments
      }
    }
    set {
      switch part {
      case .inventory: inventory = newValue
      case .app: app = newValue
      case .segments: segments = newValue
      }
    }
  }

  func contains(_ position: Int) -> Bool {
    inventory.contains(position) && app.contains(position) && segments.contains(position)
  }

  /// Leaves out those that break one of a part's rules.
  mutating func keep(_ kept: AdSet, of part: QueryPart) {
    switch part {
    case .inventory: inventory.formIntersection(kept)
    case .app: app.formIntersection(kept)
    case .segments: segments.formIntersection(kept)
    }
  }
}
