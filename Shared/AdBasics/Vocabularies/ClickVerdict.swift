/// What a click is worth. The numbers are public and stored.
package enum ClickVerdict: UInt8, Sendable, Vocabulary {
  case billable = 1
  /// A further tap on the same ad, or one beyond the first four of its kind (M4).
  case `repeat` = 2
  /// The action was over within 2 s without leaving (M7).
  case accidental = 3
  /// Less than 100 ms after the impression.
  case tooEarly = 4
  /// More than 1 h after the impression.
  case tooLate = 5
  /// A click limit of the client was reached, or so many of its clicks were judged that day.
  case limited = 6
  /// No impression came for it (M5).
  case noImpression = 7
  /// Before the ad was on screen, by the device's own ages (B8).
  case impossible = 8

  package static let vocabulary = "click_verdict"
  /// All but the one that counts.
  package static let free = allCases.filter { $0 != .billable }
  /// Those of taps that their device meant to count: neither late nor early, nor over too soon.
  package static let meant: [ClickVerdict] = [.billable, .limited]
  /// Free for another reason than that it was an accident.
  package static let otherwiseFree: [ClickVerdict] = allCases.filter { !meant.contains($0) && $0 != .accidental }

  package var rule: String? {
    switch self {
    case .billable: "M2"
    case .repeat: "M4"
    case .accidental: "M7"
    case .tooEarly, .tooLate, .noImpression: "M5"
    case .limited, .impossible: "B8"
    }
  }

  package var meaning: String {
    switch self {
    case .billable: "it counts"
    case .repeat: "it is free: another tap on the same ad had come before"
    case .accidental: "it is free: the action was over too soon, an accident"
    case .tooEarly: "it is free: it came too short a time after the impression"
    case .tooLate: "it is free: it came too long after the impression"
    case .limited: "it is free: the client had tapped as often as can earn"
    case .noImpression: "it is free: no impression came for it"
    case .impossible: "it is free: it lies before the ad was on screen"
    }
  }
}
