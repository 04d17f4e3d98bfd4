import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore

/// What is remembered of the rules is remembered by an app's class: a class for each app would remember it as often.
@Suite("Apps that are alike to the rules")
struct AppClassTests {
  private static func app(_ id: String, _ change: (inout App) -> Void = { _ in }) -> App { .sample(id, change: change) }

  private static func snapshot(_ indexed: inout IndexedCatalog, _ apps: [App], version: Int64) -> CatalogSnapshot {
    for app in apps { _ = indexed.apply(.message(.record(.app(app), version: version))) }
    var snapshot = CatalogSnapshot()
    snapshot.take(indexed.update(now: Samples.now))
    return snapshot
  }

  private static func appClass(_ app: App, _ snapshot: CatalogSnapshot) throws -> AppClass {
    try #require(snapshot.apps[app.id]).appClass
  }

  @Test("two of equal content share one class, which stays theirs when anything else changes; another has its own")
  func shared() throws {
    let (weather, tides) = (Self.app("weather"), Self.app("tides") { $0.name = "Tides" })
    let chess = Self.app("chess") { $0.categories = ["games"] }
    var indexed = IndexedCatalog(clickRates: ClickRates())
    let first = Self.snapshot(&indexed, [weather, tides, chess], version: 1)
    let common = try Self.appClass(weather, first)
    #expect(try Self.appClass(tides, first) === common)
    #expect(try Self.appClass(chess, first) !== common)

    // A directory that is made anew: by a change of a name, and of another app's content to theirs.
    let renamed = Self.app("weather") { $0.name = "Rain" }
    let second = Self.snapshot(&indexed, [renamed, Self.app("chess")], version: 2)
    #expect(second.apps[weather.id]?.app.name == "Rain")
    for app in [weather, tides, chess] { #expect(try Self.appClass(app, second) === common) }

    let third = Self.snapshot(&indexed, [Self.app("tides") { $0.exclusions.keywords = ["poker"] }], version: 3)
    #expect(try Self.appClass(weather, third) === common)
    #expect(try Self.appClass(tides, third) !== common)
  }
}
