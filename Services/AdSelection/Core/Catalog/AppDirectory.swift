package import AdCore

/// The apps with their keys, and what the network as a whole sets.
package final class AppDirectory: Sendable {
  static let empty = AppDirectory(CatalogRecords(), after: nil)

  private let apps: [AppID: App]
  private let classes: [AppID: AppClass]
  private let keys: [[UInt8]: AppKey]
  /// Nil while the catalogue has no settings: then the network operates nowhere (A5).
  package let settings: NetworkSettings?

  /// Those of `records`; apps that are alike to the rules share the class that one like them had in `old`.
  init(_ records: CatalogRecords, after old: AppDirectory?) {
    apps = records.apps
    settings = records.settings
    let classes = old.map { Array($0.classes.values) } ?? []
    var known = Dictionary(classes.map { ($0.profile, $0) }) { first, _ in first }
    self.classes = records.apps.mapValues { app in
      let profile = AdEligibility.AppProfile(app)
      let shared = known[profile] ?? AppClass(profile)
      known[profile] = shared
      return shared
    }
    keys = records.appKeys.values.reduce(into: [:]) { keys, key in
      // Should two records hold one key, the order in which they came must not decide; a revoked one prevails.
      let isWorse = keys[key.keyHash].map { ($0.isRevoked ? 0 : 1, $0.app) <= (key.isRevoked ? 0 : 1, key.app) }
      if isWorse != true { keys[key.keyHash] = key }
    }
  }

  package subscript(id: AppID) -> App? { apps[id] }

  /// The app's class; one that is not registered has a class of its own.
  package func appClass(of app: App) -> AppClass { classes[app.id] ?? AppClass(AdEligibility.AppProfile(app)) }

  /// The app key with this SHA-256, revoked or not; nil for an unknown one (A1).
  func key(hash: [UInt8]) -> AppKey? { keys[hash] }
}
