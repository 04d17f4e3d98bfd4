import AdCore

@testable import AdSelectionCore

extension SelectionCountKey {
  var reason: DecisionReason {
    switch self {
    case .ofApp(let key): key.reason
    case .withoutAppKey(_, let reason): reason
    }
  }

  /// The key of an app's request; nil for one without its app's key.
  var ofApp: MinuteCountKey? { if case .ofApp(let key) = self { key } else { nil } }
}
