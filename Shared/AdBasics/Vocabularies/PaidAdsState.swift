/// Whether an auction could choose paid ads. The numbers are stored and never change meaning.
package enum PaidAdsState: UInt8, Sendable, Vocabulary {
  case served = 1
  /// For want of the catalogue's heartbeat.
  case suspended = 2
  /// By the billing circuit breaker.
  case stopped = 3
  /// From this request, by its app's standing (A7).
  case withheld = 4

  package static let vocabulary = "paid_ads_state"

  /// What an auction says against every paid ad; nil where they are served.
  package var refusal: NoServeReason? {
    switch self {
    case .served: nil
    case .suspended, .stopped: .paidAdsSuspended
    case .withheld: .paidAdsWithheld
    }
  }

  package var rule: String? { self == .withheld ? "A7" : nil }

  package var meaning: String {
    switch self {
    case .served: "paid ads were served"
    case .suspended: "paid ads were suspended for want of the catalogue's heartbeat"
    case .stopped: "the billing circuit breaker had stopped paid ads"
    case .withheld: "paid ads were withheld from it, since its app stops many actions of ads"
    }
  }
}
