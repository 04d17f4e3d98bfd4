import AdEvents

/// What is recorded of a served ad, once each. The numbers are public and stored; the first four are those of the
/// events.
package enum RecordedKind: UInt8, CaseIterable, Sendable {
  case rendered = 1
  /// The impression.
  case viewed = 2
  case unloaded = 3
  case failed = 4
  /// It was told to have been seen sooner than can be: recorded and counted, and no impression (B8).
  case impossibleView = 5

  init(_ kind: ImpressionEvent.Kind) {
    switch kind {
    case .rendered: self = .rendered
    case .viewed: self = .viewed
    case .unloaded: self = .unloaded
    case .failed: self = .failed
    }
  }
}
