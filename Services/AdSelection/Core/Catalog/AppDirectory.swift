package import AdCore

/// An app of the catalogue. An object: an app is wide, and every request asks for one.
package final class RegisteredApp: Sendable {
  package let app: App
  package let appClass: AppClass
  /// What it is offered (A7); nil for everything.
  package let standing: AppStanding?

  init(_ app: App, _ appClass: AppClass, _ standing: AppStanding?) {
    (self.app, self.appClass, self.standing) = (app, appClass, standing)
  }

  /// Whether anything that is its user's is taken: not while nobody has said that it is for users of 17 and over (A4, A8).
  var takesUserData: Bool { app.isUnder17 == false }
}

/// The apps with their keys, and what the network as a whole sets.
package final class AppDirectory: Sendable {
  static let empty = AppDirectory(CatalogRecords(), after: nil)

  private let apps: [AppID: RegisteredApp]
  private let keys: [[UInt8]: AppKey]
  /// Nil while the catalogue has no settings: then the network operates nowhere (A5).
  package let settings: NetworkSettings?

  /// Those of `records`; apps that are alike to the rules share the class that one like them had in `old`.
  init(_ records: CatalogRecords, after old: AppDirectory?) {
    settings = records.settings
    let classes = old.map { $0.apps.values.map(\.appClass) } ?? []
    var known = Dictionary(classes.map { ($0.profile, $0) }) { first, _ in first }
    apps = records.apps.mapValues { app in
      let profile = AdEligibility.AppProfile(app)
      let shared = known[profile] ?? AppClass(profile)
      known[profile] = shared
      return RegisteredApp(app, shared, records.standings[app.id])
    }
    keys = records.appKeys.values.reduce(into: [:]) { keys, key in
      // Should two records hold one key, the order in which they came must not decide; a revoked one prevails.
      let isWorse = keys[key.keyHash].map { ($0.isRevoked ? 0 : 1, $0.app) <= (key.isRevoked ? 0 : 1, key.app) }
      if isWorse != true { keys[key.keyHash] = key }
    }
  }

  package subscript(id: AppID) -> RegisteredApp? { apps[id] }

  /// The app key with this SHA-256, revoked or not; nil for an unknown one (A1).
  func key(hash: [UInt8]) -> AppKey? { keys[hash] }
}
