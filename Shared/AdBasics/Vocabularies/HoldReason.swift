/// Why an event was held: beyond which of an app's caps (B8), or since the decision to serve its ad was lost. The numbers are stored and never change meaning.
package enum HoldReason: UInt8, Sendable, Vocabulary {
  case impressions = 1
  case clicksOfAd = 2
  case clickRate = 3
  case decisionLost = 4

  package static let vocabulary = "hold_reason"

  package var rule: String? { self == .decisionLost ? nil : "B8" }

  package var meaning: String {
    switch self {
    case .impressions: "more impressions of the app's hour than are billed without a look"
    case .clicksOfAd: "more clicks of one ad in the app's hour than are billed without a look"
    case .clickRate: "more clicks of the app's hour than its impressions make likely"
    case .decisionLost: "its ad was served by a decision that the database has lost"
    }
  }
}
