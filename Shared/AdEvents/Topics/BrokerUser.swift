package import AdBasics

/// Whoever logs in to the brokers under a name of its own. Devices do not: they come in by an app's own server or by the
/// edge.
package enum BrokerUser: Hashable, Sendable {
  case adSelection
  case impressionTracking
  case clickTracking
  case billing
  case console
  /// The command `handbill`, as people on call use it.
  case command
  /// What faces the devices of all apps for us.
  case edge
  /// Whoever only watches: it sees topics, groups and how far they are behind, and reads no record.
  case watcher
  /// A developer's server, or an app's own devices where they speak Kafka: what it may do, all that have its password may.
  case app(AppID)

  /// All but the apps'.
  package static let ofEveryNetwork: [BrokerUser] = [
    .adSelection, .impressionTracking, .clickTracking, .billing, .console, .command, .edge, .watcher,
  ]

  /// As people name it: `ad-selection`, `app/chess`.
  package var role: String {
    switch self {
    case .adSelection: "ad-selection"
    case .impressionTracking: "impression-tracking"
    case .clickTracking: "click-tracking"
    case .billing: "billing"
    case .console: "console"
    case .command: "command"
    case .edge: "edge"
    case .watcher: "watcher"
    case .app(let id): "app/\(id.text)"
    }
  }

  /// - Parameter role: as ``role`` says it.
  package init?(role: String) {
    if role.hasPrefix("app/") {
      guard let id = AppID(String(role.dropFirst(4))), id.text != App.reservedID else { return nil }
      self = .app(id)
    } else {
      guard let found = Self.ofEveryNetwork.first(where: { $0.role == role }) else { return nil }
      self = found
    }
  }

  /// Its name in a broker's access rules where nobody says another: `User:handbill-billing`, `User:handbill-app-chess`.
  package var defaultPrincipal: String { "User:handbill-\(role.replacing("/", with: "-"))" }

  /// Whose place it has in the topics' table; nil where it has none.
  var participant: Participant? {
    switch self {
    case .adSelection: .adSelection
    case .impressionTracking: .impressionTracking
    case .clickTracking: .clickTracking
    case .billing: .billing
    case .console: .console
    case .edge: .edge
    case .app: .client
    case .command, .watcher: nil
    }
  }

  /// The group under whose name a service says how far it is; nobody joins it.
  var progressGroup: String? {
    switch self {
    case .adSelection, .impressionTracking, .clickTracking, .billing: "handbill-\(role)"
    default: nil
    }
  }
}
