/// What a device tells of a tap. The numbers are public and stored.
package enum TapKind: UInt8, Sendable, Vocabulary {
  case click = 1
  case blocked = 2
  case cancelled = 3
  /// Its user did in the advertised app what the ad was for.
  case converted = 4

  package static let vocabulary = "tap_kind"

  package var rule: String? {
    switch self {
    case .click: "M2"
    case .blocked: "D7"
    case .cancelled: "D9"
    case .converted: "M8"
    }
  }

  package var meaning: String {
    switch self {
    case .click: "its action was not stopped"
    case .blocked: "the app blocked it"
    case .cancelled: "the app cancelled it"
    case .converted: "the advertised app told what came of it"
    }
  }
}
