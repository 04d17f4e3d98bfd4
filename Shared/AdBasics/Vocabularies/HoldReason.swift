/// Beyond which of an app's caps an event was held (B8). The numbers are stored and never change meaning.
package enum HoldReason: UInt8, Sendable, Vocabulary {
  case impressions = 1
  case clicksOfAd = 2
  case clickRate = 3

  package static let vocabulary = "hold_reason"

  package var rule: String? { "B8" }

  package var meaning: String {
    switch self {
    case .impressions: "more impressions of the app's hour than are billed without a look"
    case .clicksOfAd: "more clicks of one ad in the app's hour than are billed without a look"
    case .clickRate: "more clicks of the app's hour than its impressions make likely"
    }
  }
}
