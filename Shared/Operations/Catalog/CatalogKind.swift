package import AdCore

/// The kinds of records, with their names in keys, in the table and in catalogue files.
package enum CatalogKind: String, CaseIterable, Sendable {
  case advertiser
  case campaign
  case ad
  case developer
  case app
  case appKey = "app-key"
  case settings
  /// Measured by the console, written by no person.
  case standing

  /// Those that a catalogue file may have.
  package static let inFiles = allCases.filter { $0 != .standing }

  /// The list in a catalogue file that holds such records; of the settings the one object.
  package var section: String {
    switch self {
    case .advertiser: "advertisers"
    case .campaign: "campaigns"
    case .ad: "ads"
    case .developer: "developers"
    case .app: "apps"
    case .appKey: "appKeys"
    case .settings: "settings"
    case .standing: "standings"
    }
  }

  /// The kind of the record with a key such as `campaign/acme-summer`; nil for a key of no kind.
  package init?(key: String) {
    let name = key.prefix { $0 != "/" }
    guard let kind = CatalogKind(rawValue: String(name)), (kind == .settings) == (key == "settings") else {
      return nil
    }
    self = kind
  }

  package init(of record: CatalogRecord) {
    self =
      switch record {
      case .advertiser: .advertiser
      case .campaign: .campaign
      case .ad: .ad
      case .developer: .developer
      case .app: .app
      case .appKey: .appKey
      case .settings: .settings
      case .standing: .standing
      }
  }
}

/// One thing that is wrong with a catalogue file or a change: where it stands, and what to change.
package struct CatalogProblem: Error, Hashable, Sendable, CustomStringConvertible {
  /// As in `campaigns[2].flightEnd`, or a record's key and field.
  package var path: String
  /// What to change.
  package var advice: String

  package init(_ path: String, _ advice: String) {
    self.path = path
    self.advice = advice
  }

  package var description: String { "\(path): \(advice)" }
}
