internal import AdCore
package import AdEvents

/// Why the edge does not do what it is asked: each has an HTTP status, and a number and a word that never change meaning:
/// a ``RejectionReason``'s or an ``EdgeReason``'s. From 400 on numbers are HTTP's own statuses, where nothing but the request's
/// form or path is wrong.
package enum EdgeRefusal: Error, Hashable, Sendable {
  /// The request, or the frame of a batch, cannot be read.
  case rejected(Rejection)
  /// The app key is unknown, revoked, or another app's (A1).
  case appKeyWrong(detail: String)
  /// A browser asks for a page of an origin that the app does not allow.
  case originRefused
  case tooLarge(bytesMaximum: Int)
  /// Neither the content type nor the encoding is one that is read here.
  case unknownContent(detail: String)
  /// Too much of one address, client or app.
  case rateExceeded(of: RatedParty, retrySeconds: Int)
  /// Not now: Kafka is away, too much waits, the catalogue is not read yet, or the edge stops.
  case unavailable(detail: String)
  /// Nobody answered within the request's deadline.
  case noAnswer
  /// No image lies under the name that was asked for.
  case unknownCreative
  /// What lies there has another hash than its name says.
  case unsoundCreative

  /// How soon after ``unavailable(detail:)`` another try is worth while.
  package static let retrySeconds = 2

  package var status: Int {
    switch self {
    case .rejected(let rejection):
      switch rejection.reason {
      case .tooLarge: 413
      case .unknownContentType: 415
      default: 400
      }
    case .appKeyWrong, .originRefused: 403
    case .tooLarge: 413
    case .unknownContent: 415
    case .rateExceeded: 429
    case .unavailable: 503
    case .noAnswer: 504
    case .unknownCreative, .unsoundCreative: 404
    }
  }

  private var reason: any Vocabulary {
    switch self {
    case .rejected(let rejection): rejection.reason
    case .appKeyWrong: RejectionReason.appKeyWrong
    case .tooLarge: RejectionReason.tooLarge
    case .unknownContent: RejectionReason.unknownContentType
    case .originRefused: EdgeReason.originRefused
    case .rateExceeded: EdgeReason.rateExceeded
    case .unavailable: EdgeReason.unavailable
    case .noAnswer: EdgeReason.noAnswer
    case .unknownCreative: EdgeReason.unknownCreative
    case .unsoundCreative: EdgeReason.unsoundCreative
    }
  }

  package var number: Int { Int(reason.number) }
  package var word: String { reason.name }

  /// A sentence for developers.
  package var detail: String {
    switch self {
    case .rejected(let rejection): rejection.detail
    case .appKeyWrong(let detail), .unknownContent(let detail), .unavailable(let detail): detail
    case .originRefused: "the app does not allow pages of this origin: see HANDBILL_EDGE_ORIGINS"
    case .tooLarge(let maximum): "the body has more than \(maximum) bytes"
    case .rateExceeded(let party, _): "too many requests of this \(party.rawValue)"
    case .noAnswer: "nobody answered within the deadline"
    case .unknownCreative: "there is no such image here"
    case .unsoundCreative: "what lies here under that name is not that image"
    }
  }

  /// The value of `Retry-After`, in seconds; nil where trying again as it was does not help.
  package var retryAfterSeconds: Int? {
    switch self {
    case .rateExceeded(_, let seconds): max(1, seconds)
    case .unavailable: EdgeRefusal.retrySeconds
    default: nil
    }
  }
}
