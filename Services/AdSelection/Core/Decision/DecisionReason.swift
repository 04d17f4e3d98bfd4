/// What became of a request. Numbered and public: a number never changes meaning.
package enum DecisionReason: UInt8, CaseIterable, Sendable {
  /// A paid ad was served.
  case served = 1
  /// A house ad was served: no paid one was eligible.
  case servedHouse = 2
  /// A test ad was served (A1, A2).
  case servedTest = 3
  /// The same request id within 60 s.
  case duplicate = 4
  /// Its deadline had passed before it was decided: no auction.
  case deadlinePassed = 5

  /// The app key is unknown (A1).
  case unknownKey = 16
  /// The app key is revoked (A1).
  case revokedKey = 17
  /// The key belongs to another app than the request names (A1).
  case keyOfAnotherApp = 18
  /// The key's app is not in the catalogue.
  case unknownApp = 19
  /// The agreement is not signed (A3).
  case agreementUnsigned = 20
  /// The primary audience was never answered (A9).
  case audienceUnanswered = 21
  /// Ads are not enabled for the app (A3).
  case adsNotEnabled = 22
  /// A size identifier is unknown, the current one is not required, or an interstitial is for a phone (S3, S4, S5).
  case sizeRefused = 23
  /// The record is rejected: a field is missing or beyond its limits. The answer says which.
  case requestInvalid = 24

  /// The network does not operate in the country (A5).
  case countryNotServed = 32
  /// No ad is eligible; the explanation says why not.
  case noEligibleAd = 33
  /// Ads are eligible, and none has an allotment.
  case noAllotment = 34
  /// Paid ads are suspended, for want of the catalogue's heartbeat, and no house ad is eligible.
  case paidAdsSuspended = 35
  /// The same client and placement too soon (D2).
  case tooSoon = 36
  /// Too many requests of one client at once (D3).
  case tooManyAtOnce = 37
  /// The catalogue is not complete.
  case catalogIncomplete = 38
  /// A test request that is deliberately not filled (A2).
  case testUnfilled = 39
  /// A test request that gets an error which did not happen (A2).
  case testError = 40
  /// The billing circuit breaker is open, so paid ads are stopped, and no house ad is eligible.
  case paidAdsStopped = 41
  /// The catalogue is not complete, and the app key is not in what there is of it.
  case keyNotYetKnown = 42
}

extension DecisionReason {
  /// Whether an ad was served.
  package var isFill: Bool {
    switch self {
    case .served, .servedHouse, .servedTest: true
    default: false
    }
  }

  /// What an answer without an ad tells the app's developer; empty where the decision has a sentence of its own. It
  /// follows from the reason alone, so that a repeated request gets the same answer after a restart.
  package var detail: String {
    let limits = Throttle.Limits()
    let (refresh, window) = (limits.refreshMilliseconds / 1_000, limits.windowMilliseconds / 1_000)
    return switch self {
    case .countryNotServed: "A5: the network does not operate in the request's country"
    case .noEligibleAd: "no ad is eligible now; ask again at the next refresh"
    case .noAllotment: "an ad is eligible, and no budget is at hand for it now; ask again at the next refresh"
    case .paidAdsSuspended, .paidAdsStopped: "paid ads are stopped for now; ask again at the next refresh"
    case .tooSoon: "D2: a banner's client and placement may ask once in \(refresh) s"
    case .tooManyAtOnce: "D3: one client may ask \(limits.requestsPerWindow) times in \(window) s"
    case .catalogIncomplete, .keyNotYetKnown: "the service is still reading its catalogue; ask again in some seconds"
    case .testUnfilled: "A2: test builds are left without an ad now and then"
    case .testError: "A2: test builds get an error now and then that did not happen"
    case .served, .servedHouse, .servedTest, .duplicate, .deadlinePassed, .unknownKey, .revokedKey, .keyOfAnotherApp,
      .unknownApp, .agreementUnsigned, .audienceUnanswered, .adsNotEnabled, .sizeRefused, .requestInvalid:
      ""
    }
  }

  /// Whether it came without the key of the app that it names: then it counts for no app (M1, A1). A revoked key is no
  /// key: whoever found it out could go on counting on the app that revoked it.
  package var isWithoutAppKey: Bool {
    switch self {
    case .unknownKey, .revokedKey, .keyOfAnotherApp, .keyNotYetKnown: true
    default: false
    }
  }

  /// Whether the same request again gets this decision. Past its deadline, or without a catalogue, nothing was decided:
  /// it may be asked again. Who has no key cannot make us remember anything.
  package var isRemembered: Bool {
    switch self {
    case .duplicate, .deadlinePassed, .catalogIncomplete: false
    default: !isWithoutAppKey
    }
  }

  /// Whether it counts for throttling: what is to be noted again when the throttle is rebuilt from stored decisions.
  package var countsForThrottle: Bool {
    switch self {
    case .served, .servedHouse, .servedTest, .noEligibleAd, .noAllotment, .paidAdsSuspended,
      .paidAdsStopped, .testUnfilled, .testError, .countryNotServed:
      true
    default: false
    }
  }

  /// Whether it moved its client's sequence of test requests on.
  package var countsForTestSequence: Bool {
    switch self {
    case .servedTest, .testUnfilled, .testError: true
    default: false
    }
  }
}
