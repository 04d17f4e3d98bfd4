/// What is recorded of a served ad, once each. The numbers are public and stored; the first four are those of the
/// events.
package enum RecordedKind: UInt8, Sendable, Vocabulary {
  case rendered = 1
  /// The impression.
  case viewed = 2
  case unloaded = 3
  case failed = 4
  /// Recorded and counted, and no impression (B8).
  case viewedTooSoon = 5

  package static let vocabulary = "delivery_kind"

  package var rule: String? {
    switch self {
    case .rendered: nil
    case .viewed: "M1"
    case .unloaded: "D5"
    case .failed: "D1"
    case .viewedTooSoon: "B8"
    }
  }

  package var meaning: String {
    switch self {
    case .rendered: "it began to be drawn"
    case .viewed: "it was seen"
    case .unloaded: "its content was unloaded"
    case .failed: "it failed"
    case .viewedTooSoon: "it was told to be seen sooner than can be, which is no impression"
    }
  }
}
