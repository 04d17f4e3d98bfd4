/// Why the edge itself refuses a request. The numbers are public and stay apart from those of ``RejectionReason``, which
/// are below 192, and from HTTP's statuses, from 400 on.
package enum EdgeReason: UInt8, Sendable, Vocabulary {
  case originRefused = 192
  case rateExceeded = 193
  case unavailable = 194
  case noAnswer = 195
  case unknownCreative = 196
  case unsoundCreative = 197

  package static let vocabulary = "edge_reason"

  package var meaning: String {
    switch self {
    case .originRefused: "the app does not allow pages of this origin"
    case .rateExceeded: "too much came of one address, client or app"
    case .unavailable: "not now: Kafka is away, too much waits, or the edge starts or stops"
    case .noAnswer: "nobody answered within the request's deadline"
    case .unknownCreative: "no image lies under the name that was asked for"
    case .unsoundCreative: "what lies under that name is another image"
    }
  }
}
