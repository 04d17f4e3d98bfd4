package import AdCore
internal import AdEvents

extension EventTiming {
  /// The numbered reason for a time that is not accepted.
  package var rejection: (reason: RejectionReason, detail: String) {
    switch self {
    case .at, .tokenOutOfTime: (.tokenOutOfTime, "the token was issued too long before, or after, its arrival")
    case .expired: (.tokenExpired, "the event lies after the token's life")
    case .inFuture(let milliseconds): (.eventInFuture, "the event lies \(milliseconds) ms after its arrival")
    case .tooLate: (.tooLateArrival, "it came longer after the event than HANDBILL_LATE_ARRIVAL allows")
    }
  }
}
