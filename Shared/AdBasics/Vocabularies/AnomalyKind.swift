/// What can be unusual about an app's hour. The numbers are stored and never change meaning.
package enum AnomalyKind: Int16, Sendable, Vocabulary {
  case clickRate = 1
  case repeats = 2
  case tooEarly = 3
  case accidental = 4
  case limited = 5
  case impossible = 6

  package static let vocabulary = "anomaly_kind"

  package var rule: String? {
    switch self {
    case .clickRate, .tooEarly: nil
    case .repeats: "M4"
    case .accidental: "M7"
    case .limited, .impossible: "B8"
    }
  }

  package var meaning: String {
    switch self {
    case .clickRate: "net clicks of net impressions"
    case .repeats: "further taps on the same ad, of gross clicks"
    case .tooEarly: "taps less than 100 ms after the impression, of gross clicks"
    case .accidental: "accidental taps, of gross clicks"
    case .limited: "taps beyond the client's click limits, of gross clicks"
    case .impossible: "views and taps that cannot be, of all that were told"
    }
  }
}
