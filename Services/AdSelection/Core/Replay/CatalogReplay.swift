package import AdCore
package import AdEvents

/// The catalogue as it was after one change, and after the changes that follow. There is one line of them, as in
/// production: what indexes remember is told apart by the number of flips on it, so nothing goes on from a copy.
package struct CatalogReplay: Sendable {
  private var catalog: IndexedCatalog
  private var current = CatalogSnapshot()
  /// The number of the last change that it holds.
  package private(set) var change: Int64
  private var now: Timestamp

  /// - Parameters:
  ///   - messages: what the catalogue held after `change`.
  ///   - now: about when it was; flights follow each auction's own time.
  package init(_ messages: [CatalogMessage], change: Int64, clickRates: ClickRates, now: Timestamp) {
    catalog = IndexedCatalog(clickRates: clickRates)
    self.change = change
    self.now = now
    for message in messages { _ = catalog.apply(.message(message)) }
    current.take(catalog.rebuilt(now: now))
  }

  /// The same once more, with indexes of its own, to go on from.
  package func restarted() -> CatalogReplay {
    var replay = self
    replay.current.take(replay.catalog.rebuilt(now: now))
    return replay
  }

  /// What auctions decide by after ``change``, at a moment.
  package mutating func snapshot(at now: Timestamp) -> CatalogSnapshot {
    self.now = now
    current.turn(to: now)
    return current
  }

  /// Takes the changes up to `change`, in their order.
  package mutating func take(_ messages: [CatalogMessage], upTo change: Int64) {
    self.change = max(self.change, change)
    guard !messages.isEmpty else { return }
    for message in messages { _ = catalog.apply(.message(message)) }
    current.take(catalog.update(now: now))
    while let build = catalog.startBuild() { current.take(catalog.finishBuild(build.run(), now: now)) }
  }
}
