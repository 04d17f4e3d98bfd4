package import AdCore
package import AdEvents

/// A served ad before its token is made. An object: the decision, its row, its answer and what is remembered of its request
/// are of the same one.
package final class Serve: Hashable, Sendable {
  package let terms: ServedTerms
  /// One image for each required size (S4), in the request's order.
  package let images: [ServedAd.Image]
  package let action: AdAction
  /// 5 to 15 minutes, in milliseconds (D5).
  package let lifetimeMilliseconds: Int64
  /// What it was sold from; nil for test and house ads.
  package let reservation: Reservation?
  /// What the impression is expected to bring, in millionths of a nano of the network's own unit; 0 for test ads, which no
  /// auction chose.
  package let expectedValue: Int128

  package init(
    terms: ServedTerms, images: [ServedAd.Image], action: AdAction, lifetimeMilliseconds: Int64,
    reservation: Reservation?, expectedValue: Int128 = 0
  ) {
    self.terms = terms
    self.images = images
    self.action = action
    self.lifetimeMilliseconds = lifetimeMilliseconds
    self.reservation = reservation
    self.expectedValue = expectedValue
  }

  package static func == (left: Serve, right: Serve) -> Bool {
    left === right
      || (left.terms, left.images, left.action) == (right.terms, right.images, right.action)
        && (left.lifetimeMilliseconds, left.reservation, left.expectedValue)
          == (right.lifetimeMilliseconds, right.reservation, right.expectedValue)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(terms.serveID) }

  /// The ad as the client gets it.
  ///
  /// - Parameters:
  ///   - pacing: what the client goes by.
  ///   - references: make what the store link carries (M8); nil where it carries none.
  ///   - countsBySession: the request's client id was not taken.
  package func servedAd(
    token: [UInt8], pacing: AdPacing, references: ClickReferences?, countsBySession: Bool
  ) -> ServedAd {
    let action = action.served { app in
      references?.text(
        of: ClickReference(serveID: terms.serveID, partition: terms.partition, app: app), now: terms.issuedAt) ?? ""
    }
    return ServedAd(
      ad: terms.ad, token: token, images: images, action: action, lifetimeMilliseconds: lifetimeMilliseconds,
      isTest: terms.isTest, serveID: terms.serveID,
      revenue: ServedAd.Revenue(amount: developerRevenue, currency: terms.currency), pacing: pacing,
      countsBySession: countsBySession)
  }

  /// What billing will pay the developer for the impression (B2): the same share of the same price.
  private var developerRevenue: Nanos {
    let share = RevenueShare(basisPoints: terms.shareBasisPoints)
    return terms.isTest ? .zero : share?.split(terms.impressionPrice).developer ?? .zero
  }
}

/// What a request is answered with.
package enum Answer: Hashable, Sendable {
  case ad(Serve)
  case error(AdError, detail: String)
}

package enum DecisionOutcome: Hashable, Sendable {
  /// An ad: paid, house or test.
  case served(Serve)
  /// No ad now: the error for the client, and why.
  case noAd(AdError, DecisionReason)
  /// The app or the request is not set up for ads: `configurationError`, and a text for the app's developer.
  case refused(DecisionReason, detail: String)
  /// The same request again: nothing is counted by throttling, nothing sold. It is answered with what it has already
  /// while its deadline runs, else not at all.
  case duplicate(of: Answer, isAnswered: Bool)
  /// Nobody waits for the answer any more: recorded, answered with an error, and no auction held.
  case expiredDeadline
}

/// What was decided of one request, and everything that is to be stored of it.
package struct Decision: Hashable, Sendable {
  package var outcome: DecisionOutcome
  package var reason: DecisionReason
  /// Why each ad considered did not win. Empty where there was no auction.
  package var explanation: Explanation
  /// The current size, also of a request that was refused before it mattered; nil where the request's sizes did not
  /// resolve, or cannot be read.
  package var size: AdSize?
  /// Whether the key is that of a test build (A1).
  package var isTest: Bool
  /// What its placement counts as (``PlacementNames``); nil where the request does not tell it, or has no key.
  package var placement: PlacementID?
  /// What went into its auction; nil where there was none, and for test traffic.
  package var inputs: AuctionInputs?

  package init(
    outcome: DecisionOutcome, reason: DecisionReason, explanation: Explanation = .empty, size: AdSize? = nil,
    isTest: Bool = false, inputs: AuctionInputs? = nil
  ) {
    self.outcome = outcome
    self.reason = reason
    self.explanation = explanation
    self.size = size
    self.isTest = isTest
    self.inputs = inputs
  }

  /// What goes to the client; nil where nothing does.
  package var answer: Answer? {
    switch outcome {
    case .served(let serve): .ad(serve)
    case .noAd(let error, let reason): .error(error, detail: reason.detail)
    case .refused(_, let detail): .error(.configurationError, detail: detail)
    case .duplicate(let earlier, let isAnswered): isAnswered ? earlier : nil
    case .expiredDeadline: .error(.serverFailure, detail: "the deadline has passed")
    }
  }
}
