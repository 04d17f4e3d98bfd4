package import AdCore
package import AdEvents

/// The catalogue as it was after one change, and after the changes that follow. A value: a copy goes on by itself.
package struct CatalogReplay: Sendable {
  private var catalog: IndexedCatalog
  /// What auctions decide by after ``change``.
  package private(set) var snapshot = CatalogSnapshot()
  /// The number of the last change that it holds.
  package private(set) var change: Int64
  private let now: Timestamp

  /// - Parameters:
  ///   - messages: what the catalogue held after `change`.
  ///   - now: about when it was; flights follow each auction's own time.
  package init(_ messages: [CatalogMessage], change: Int64, clickRates: ClickRates, now: Timestamp) {
    catalog = IndexedCatalog(clickRates: clickRates)
    self.change = change
    self.now = now
    for message in messages { _ = catalog.apply(.message(message)) }
    snapshot.take(catalog.rebuilt(now: now))
  }

  /// Takes the changes up to `change`, in their order.
  package mutating func take(_ messages: [CatalogMessage], upTo change: Int64) {
    self.change = max(self.change, change)
    guard !messages.isEmpty else { return }
    for message in messages { _ = catalog.apply(.message(message)) }
    snapshot.take(catalog.update(now: now))
    while let build = catalog.startBuild() { snapshot.take(catalog.finishBuild(build.run(), now: now)) }
  }
}
