package import AdCore
package import Crypto

/// What is known of a serve token that somebody asks about: only its serve id can be read by everybody, and anyone can
/// write that.
package enum TokenAuthenticity: String, Hashable, Sendable {
  /// It opens with the network's keys: it is the token of that serve.
  case opened
  /// The network's keys are not at hand.
  case notChecked
  /// Its key is not among those at hand.
  case keyUnknown
  /// It is not ours, or was altered (I1).
  case doesNotOpen

  /// Tries to open a token.
  ///
  /// - Parameters:
  ///   - ring: the network's keys; nil where they are not at hand.
  package init(of token: [UInt8], _ ring: KeyRing?) throws(CryptoError) {
    guard let ring, let id = ServeToken.serveID(of: token) else {
      self = .notChecked
      return
    }
    // A key's time is that of what it encrypted, not that of the question.
    switch try ServeTokenOpener(ring: ring).open(token, now: id.timestamp) {
    case .valid: self = .opened
    case .unknownKey: self = .keyUnknown
    case .forged: self = .doesNotOpen
    }
  }

  /// For people.
  func text(_ id: ServeID) -> String {
    switch self {
    case .opened: "The token is the network's own, for serve \(id)."
    case .notChecked:
      "The token's authenticity was not checked, since HANDBILL_TOKEN_KEYS is not set here: serve id \(id) stands in it in "
        + "clear, and anyone can write that. What follows is of that serve, whether or not this token was issued for it."
    case .keyUnknown:
      "The token's authenticity could not be checked: HANDBILL_TOKEN_KEYS has no such key for its time. Serve id \(id) "
        + "stands in it in clear, and anyone can write that; what follows is of that serve."
    case .doesNotOpen:
      "The token does not open with the network's keys: it was altered, or never issued (I1). Serve id \(id) stands in it "
        + "in clear; what follows is of that serve, not of this token."
    }
  }
}
