/// Whether an auction could choose paid ads. The numbers are stored and never change meaning.
package enum PaidAdsState: UInt8, Sendable, Vocabulary {
  case served = 1
  /// For want of the catalogue's heartbeat.
  case suspended = 2
  /// By the billing circuit breaker.
  case stopped = 3

  package static let vocabulary = "paid_ads_state"

  package var meaning: String {
    switch self {
    case .served: "paid ads were served"
    case .suspended: "paid ads were suspended for want of the catalogue's heartbeat"
    case .stopped: "the billing circuit breaker had stopped paid ads"
    }
  }
}
