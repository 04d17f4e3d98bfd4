internal import AdCore

extension DecisionReason {
  /// What an answer without an ad tells the app's developer; empty where the decision has a sentence of its own. It
  /// follows from the reason alone, so that a repeated request gets the same answer after a restart.
  package var detail: String {
    switch self {
    case .countryNotServed: "A5: the network does not operate in the request's country"
    case .noEligibleAd: "no ad is eligible now; ask again at the next refresh"
    case .noAllotment: "an ad is eligible, and no budget is at hand for it now; ask again at the next refresh"
    case .paidAdsSuspended, .paidAdsStopped: "paid ads are stopped for now; ask again at the next refresh"
    case .paidAdsWithheld: "A7: the app stops many actions of ads, and so is offered fewer of them"
    case .tooSoon: "D2: this client asked for a banner of this placement just now; ask again at the next refresh"
    case .tooManyAtOnce: "D3: this client asked too often at once, over all placements; ask again later"
    case .tooManyOfApp: "B8: more requests of this app have come in this hour than are answered with ads"
    case .catalogIncomplete, .keyNotYetKnown: "the service is still reading its catalogue; ask again in some seconds"
    case .testUnfilled: "A2: test builds are left without an ad now and then"
    case .testError: "A2: test builds get an error now and then that did not happen"
    case .served, .servedHouse, .servedTest, .duplicate, .deadlinePassed, .unknownKey, .revokedKey, .keyOfAnotherApp,
      .unknownApp, .agreementUnsigned, .audienceUnanswered, .adsNotEnabled, .sizeRefused, .requestInvalid,
      .keylessBeyondLimit:
      ""
    }
  }
}
