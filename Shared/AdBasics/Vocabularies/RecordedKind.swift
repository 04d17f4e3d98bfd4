/// What is recorded of a served ad, once each. The numbers are public and stored; they are those of the events, but
/// for 5.
package enum RecordedKind: UInt8, Sendable, Vocabulary {
  case rendered = 1
  /// The impression.
  case viewed = 2
  case unloaded = 3
  case failed = 4
  /// Recorded and counted, and no impression (B8).
  case viewedTooSoon = 5
  /// Given up without having been on screen.
  case neverShown = 6
  /// Its life ended before it was on screen.
  case expiredUnseen = 7
  /// Hidden by the app sooner than it may be.
  case shownBriefly = 8

  package static let vocabulary = "delivery_kind"

  package var rule: String? {
    switch self {
    case .rendered: nil
    case .viewed: "M1"
    case .unloaded: "D5"
    case .failed: "D1"
    case .viewedTooSoon: "B8"
    case .neverShown: "D3"
    case .expiredUnseen: "D5"
    case .shownBriefly: "D12"
    }
  }

  package var meaning: String {
    switch self {
    case .rendered: "it began to be drawn"
    case .viewed: "it was seen"
    case .unloaded: "its content was unloaded"
    case .failed: "it failed"
    case .viewedTooSoon: "it was told to be seen sooner than can be, which is no impression"
    case .neverShown: "it was given up without having been on screen"
    case .expiredUnseen: "its life ended before it was on screen"
    case .shownBriefly: "the app hid it sooner than it may, and not because the user went away"
    }
  }
}
