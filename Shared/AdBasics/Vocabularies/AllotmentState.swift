/// How far an allotment of billing's has come. The numbers are stored and never change meaning; they rise.
package enum AllotmentState: UInt8, Sendable, Vocabulary {
  case open = 1
  case closed = 2
  case ended = 3

  package static let vocabulary = "allotment_state"

  package var meaning: String {
    switch self {
    case .open: "ads are still sold from it"
    case .closed: "no more is sold from it, its ads may still be charged"
    case .ended: "it is over, and what was not charged has gone back"
    }
  }
}
