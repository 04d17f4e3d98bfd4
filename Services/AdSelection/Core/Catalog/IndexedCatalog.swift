internal import AdCore

/// The catalogue with its indexes: takes what came on the topic, and says what becomes of the snapshot that partitions
/// decide by. A value without a clock or a thread: a new base is a job (``BaseBuild``) for whoever has one.
///
/// An ad whose newest version differs from the base's by a pause alone is told by a bit. Any other goes into the recent
/// index, which is made again. Where that would grow beyond its maximum, what is new waits for the next base.
package struct IndexedCatalog: Sendable {
  /// The most ads of the recent index, if nothing else is said.
  package static let recentMaximum = 512

  package private(set) var catalog = CatalogState()
  /// The last change of the catalogue that is held, with all before it; nil where that is not known: between a change
  /// and the heartbeat that tells it.
  private var changeNumber: Int64?
  private(set) var wants = WantsKeeper()
  private let clickRates: ClickRates
  private let recentMaximum: Int
  private var apps = AppDirectory.empty
  private var base = AdIndex([])
  private var recent = AdIndex([])
  /// Ads that differ from their version in the base, or are not there.
  private var differing: Set<AdID> = []
  /// Those of them whose newest version is in the recent index, or waits for a place.
  private var recentAds: Set<AdID> = []
  /// Ads to be refreshed at.
  private var touched: Set<AdID> = []
  /// While a base is being built: the ads touched since it began.
  private var touchedSinceBuild: Set<AdID>?

  init(clickRates: ClickRates, recentMaximum: Int = IndexedCatalog.recentMaximum) {
    self.clickRates = clickRates
    self.recentMaximum = recentMaximum
  }

  /// Takes a message of the topic. What it changes shows in the next ``update(now:)``.
  mutating func apply(_ item: CatalogSource.Item) -> CatalogState.Change {
    let change =
      switch item {
      case .message(let message): catalog.apply(message)
      case .tombstone(let key): catalog.applyTombstone(key: key)
      }
    if case .changed(let concern) = change {
      changeNumber = nil
      touched.formUnion(concern.ads)
      wants.note(concern.campaigns)
    }
    return change
  }

  /// Takes what a heartbeat says of the catalogue: what agrees with it is known by the number of its last change. One
  /// that does not, because it is another console's, says nothing new of what did.
  mutating func noteHeartbeat(records: Int64, versionSum: Int64, change: Int64) {
    guard change > 0, catalog.matchesHeartbeat(records: records, versionSum: versionSum) else { return }
    changeNumber = change
  }

  /// What has changed since the last update.
  mutating func update(now: Timestamp) -> CatalogUpdate {
    var update = CatalogUpdate()
    let refreshed = touched
    touched = []
    touchedSinceBuild?.formUnion(refreshed)
    var isRecentOld = false
    for id in refreshed { isRecentOld = refresh(id, &update) || isRecentOld }
    if isRecentOld, recentAds.count <= recentMaximum { rebuildRecent(&update, now: now) }
    update.apps = takeApps()
    // While versions before the newest ones are in force, what is served from was the catalogue at no moment.
    update.changeNumber = recentAds.count > recentMaximum ? nil : changeNumber
    wants.update(catalog.records, now: now)
    return update
  }

  /// Looks at the newest version of an ad.
  ///
  /// - Returns: whether it must be put into the recent index.
  private mutating func refresh(_ id: AdID, _ update: inout CatalogUpdate) -> Bool {
    let newest = catalog.records.candidate(id, clickRates: clickRates)
    let inBase = base.positions[id]
    let inRecent = recent.positions[id]
    let isBase = isPauseAll(newest, inBase, of: base)
    let isRecent = !isBase && isPauseAll(newest, inRecent, of: recent)
    let isWaiting = newest != nil && !isBase && !isRecent
    let isPaused = newest?.isPaused ?? false
    for (position, isThere, isRecent) in [(inBase, isBase, false), (inRecent, isRecent, true)] {
      guard let position else { continue }
      // Until the newest version is in an index the one before it is served, unless it is paused.
      let isGone = isWaiting ? nil : !isThere
      update.standings.append(.init(isRecent: isRecent, position: position, isPaused: isPaused, isGone: isGone))
    }
    if isBase || newest == nil { recentAds.remove(id) } else { recentAds.insert(id) }
    if isBase, let inBase, base.candidates[Int(inBase)].isPaused == isPaused {
      differing.remove(id)
    } else {
      differing.insert(id)
    }
    return isWaiting
  }

  private func isPauseAll(_ newest: Candidate?, _ position: Int32?, of index: AdIndex) -> Bool {
    guard let newest, let position else { return false }
    return newest.differsByPauseAlone(from: index.candidates[Int(position)])
  }

  private mutating func rebuildRecent(_ update: inout CatalogUpdate, now: Timestamp) {
    recent = AdIndex(recentAds.compactMap { catalog.records.candidate($0, clickRates: clickRates) }.sorted())
    let ranks = recent.candidates.map { Int32(truncatingIfNeeded: base.rank(of: $0)) }
    update.recent = (AdLevel(recent, now: now), ranks)
    update.standings.removeAll(where: \.isRecent)
    for id in recentAds {
      guard let position = base.positions[id] else { continue }
      update.standings.append(.init(isRecent: false, position: position, isPaused: false, isGone: true))
    }
  }

  private mutating func takeApps() -> AppDirectory? {
    guard catalog.takeAppChange() else { return nil }
    apps = AppDirectory(catalog.records, after: apps)
    return apps
  }

  // MARK: The base

  /// All of it at once: where nobody is served yet.
  mutating func rebuilt(now: Timestamp) -> CatalogUpdate {
    touched = []
    return replaceBase(by: AdIndex(catalog.records.candidates(clickRates: clickRates)), now: now)
  }

  /// The job to be done now, if there is one; not while one is being done.
  mutating func startBuild() -> BaseBuild? {
    guard touchedSinceBuild == nil, recentAds.count > recentMaximum / 2 else { return nil }
    touchedSinceBuild = []
    return BaseBuild(
      base: base, replaced: differing,
      newest: differing.compactMap { catalog.records.candidate($0, clickRates: clickRates) })
  }

  /// Takes the base that a job has built. What has changed since it began goes on top.
  mutating func finishBuild(_ built: AdIndex, now: Timestamp) -> CatalogUpdate {
    touched.formUnion(touchedSinceBuild ?? [])
    touchedSinceBuild = nil
    return replaceBase(by: built, now: now)
  }

  private mutating func replaceBase(by built: AdIndex, now: Timestamp) -> CatalogUpdate {
    base = built
    recent = AdIndex([])
    differing = []
    recentAds = []
    var update = update(now: now)
    update.base = AdLevel(base, now: now)
    if update.recent == nil { update.recent = (AdLevel(recent, now: now), []) }
    return update
  }
}

/// The making of a new base: what takes long, and needs nothing but itself.
package struct BaseBuild: Sendable {
  let base: AdIndex
  /// Ads of the base that are gone, or newer here.
  let replaced: Set<AdID>
  let newest: [Candidate]

  package func run() -> AdIndex {
    let kept = base.candidates.filter { !replaced.contains($0.ad.id) }
    return AdIndex((kept + newest).sorted())
  }
}

extension AdIndex {
  /// How many of its ads come before `candidate`.
  func rank(of candidate: Candidate) -> Int {
    var (low, high) = (0, candidates.count)
    while low < high {
      let middle = (low + high) / 2
      if candidates[middle] < candidate { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
