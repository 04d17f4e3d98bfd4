package import AdCore

/// The catalogue as ad selection looks at it at one moment: its ads at two levels, and the apps. A value of a few
/// references, cheap to hand on.
///
/// Most ads are in a big *base* index, those that changed since it was built in a small *recent* one. A pause flips a bit
/// of ``Liveness``; any other change marks the old version as gone and puts the new one into the recent index.
package struct CatalogSnapshot: Sendable {
  private(set) var base: AdLevel
  private(set) var recent: AdLevel
  /// For each ad of the recent index how many of the base come before it.
  private(set) var recentRanks: [Int32] = []
  package private(set) var apps = AppDirectory.empty
  /// The number of the catalogue's last change that it holds, with all before it; nil where it is the catalogue of no one
  /// moment, or nobody told which.
  package private(set) var changeNumber: Int64?

  /// Nothing at all.
  package init() {
    base = .empty
    recent = .empty
  }

  /// Takes what has changed.
  mutating func take(_ update: CatalogUpdate) {
    if let apps = update.apps { self.apps = apps }
    if let base = update.base { self.base = base }
    if let recent = update.recent { (self.recent, recentRanks) = (recent.level, recent.ranks) }
    base = base.setting(update.standings.filter { !$0.isRecent })
    recent = recent.setting(update.standings.filter(\.isRecent))
    changeNumber = update.changeNumber
  }

  /// Makes it true for `now`: flights have begun and ended.
  mutating func turn(to now: Timestamp) {
    base = base.turned(to: now)
    recent = recent.turned(to: now)
  }

  /// Nil while the catalogue has no settings: then the network operates nowhere (A5).
  package var settings: NetworkSettings? { apps.settings }

  /// The ad at a position that an auction has named.
  package func candidate(at position: AdPosition) -> Candidate {
    (position.isRecent ? recent : base).index.candidates[position.index]
  }
}

/// An index with what is live of it at one moment.
final class AdLevel: Sendable {
  static let empty = AdLevel(AdIndex([]), now: Timestamp(milliseconds: 0))

  let index: AdIndex
  let liveness: Liveness

  convenience init(_ index: AdIndex, now: Timestamp) { self.init(index, Liveness(index, now: now)) }

  private init(_ index: AdIndex, _ liveness: Liveness) {
    self.index = index
    self.liveness = liveness
  }

  fileprivate func setting(_ standings: [CatalogUpdate.Standing]) -> AdLevel {
    if standings.isEmpty { return self }
    var liveness = liveness
    for ad in standings {
      liveness.set(Int(ad.position), isPaused: ad.isPaused, isGone: ad.isGone, in: index)
    }
    return AdLevel(index, liveness)
  }

  fileprivate func turned(to now: Timestamp) -> AdLevel {
    if liveness.isCurrent(at: now, in: index) { return self }
    var liveness = liveness
    liveness.turn(to: now, in: index)
    return AdLevel(index, liveness)
  }
}

/// Where an ad is in a ``CatalogSnapshot``.
package struct AdPosition: Hashable, Sendable {
  let isRecent: Bool
  let index: Int
}

/// What becomes of a ``CatalogSnapshot`` by a change of the catalogue.
struct CatalogUpdate: Sendable {
  /// How an ad of one of the indexes stands from now on.
  struct Standing: Sendable {
    let isRecent: Bool
    let position: Int32
    let isPaused: Bool
    /// Nil for as it is.
    let isGone: Bool?
  }

  var base: AdLevel?
  var recent: (level: AdLevel, ranks: [Int32])?
  /// In indexes as they are after the update.
  var standings: [Standing] = []
  var apps: AppDirectory?
  var changeNumber: Int64?
}
