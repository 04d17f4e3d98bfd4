package import AdCore
package import JSON

/// What is still to be done before an app that was written gets ads, in the order in which it must be done.
package struct CatalogStep: Hashable, Sendable {
  package enum Kind: String, Sendable {
    /// Its answers need a topic.
    case createTopic
    /// Its own server's login has no rights on the brokers.
    case giveRights
    /// The agreement is not signed (A9).
    case signAgreement
    /// Nobody has said whether it is aimed at users under 17 (A4).
    case answerAudience
    /// Its ads are not enabled (A3).
    case enableAds
    /// No build of it has a key that is not revoked (A1).
    case makeKey
  }

  package var app: AppID
  package var kind: Kind
  /// In a sentence.
  package var detail: String
  /// What does it; nil where a file does.
  package var command: String?

  /// Somebody has to make the app's topic. Devices that come by the edge need none.
  package static func topic(of app: AppID) -> CatalogStep {
    CatalogStep(
      app: app, kind: .createTopic, detail: "where its own server speaks Kafka, its answers need a topic",
      command: "handbill topics create --app \(app)")
  }

  /// Somebody has to give the app's rights. Devices that come by the edge need none.
  package static func rights(of app: AppID) -> CatalogStep {
    CatalogStep(
      app: app, kind: .giveRights,
      detail: "where its own server speaks Kafka, that one needs rights, which a super user of the brokers gives",
      command: "handbill topics acls --apply --app \(app)")
  }

  /// The steps of the apps that were created or changed, themselves or in their keys.
  static func after(_ changes: [CatalogChange], in records: [String: CatalogRecord]) -> [CatalogStep] {
    let written = changes.filter { $0.kind == .created || $0.kind == .changed }
    let created = Set(written.filter { $0.kind == .created }.map(\.key))
    var apps: Set<AppID> = []
    for change in written {
      switch records[change.key] {
      case .app(let app)?: apps.insert(app.id)
      case .appKey(let key)?: apps.insert(key.app)
      default: break
      }
    }
    let withKeys = withKeys(records)
    return apps.sorted().flatMap { id -> [CatalogStep] in
      guard case .app(let app)? = records["app/\(id)"] else { return [] }
      return steps(of: app, isNew: created.contains("app/\(id)"), hasKey: withKeys.contains(id))
    }
  }

  /// What an app lacks that is there, but for its topic; nil where there is no such app.
  package static func missing(of app: AppID, in records: [String: CatalogRecord]) -> [CatalogStep]? {
    guard case .app(let found)? = records["app/\(app)"] else { return nil }
    return steps(of: found, isNew: false, hasKey: withKeys(records).contains(app))
  }

  private static func withKeys(_ records: [String: CatalogRecord]) -> Set<AppID> {
    Set(
      records.values.compactMap { record -> AppID? in
        guard case .appKey(let key) = record, !key.isRevoked else { return nil }
        return key.app
      })
  }

  private static func steps(of app: App, isNew: Bool, hasKey: Bool) -> [CatalogStep] {
    let set = "handbill catalog set app/\(app.id)"
    var steps: [CatalogStep] = []
    func add(_ kind: Kind, _ detail: String, _ command: String?) {
      steps.append(CatalogStep(app: app.id, kind: kind, detail: detail, command: command))
    }
    if isNew { steps.append(.topic(of: app.id)) }
    if !app.isAgreementSigned {
      add(.signAgreement, "its agreement is not signed (A9)", "\(set) isAgreementSigned=true")
    }
    if app.isUnder17 == nil {
      add(
        .answerAudience, "nobody has said whether it is aimed at users under 17: true can never be taken back (A4)",
        "\(set) isUnder17=false")
    }
    if !app.areAdsEnabled { add(.enableAds, "its ads are not enabled (A3)", "\(set) areAdsEnabled=true") }
    if !hasKey {
      add(
        .makeKey,
        "it has no key (A1): apply a file with "
          + "{\"appKeys\": [{\"app\": \"\(app.id)\", \"build\": \"distribution\"}]}", nil)
    }
    return steps
  }

  package var text: String { "app \(app): \(detail)" + (command.map { ": \($0)" } ?? "") }

  package var json: JSONValue {
    [
      "app": .text(app.text), "step": .text(kind.rawValue), "detail": .text(detail), "command": .optional(command),
    ]
  }
}
