/// What became of a request. Numbered and public: a number never changes meaning.
package enum DecisionReason: UInt8, Sendable, Vocabulary {
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
  /// It came without its app's key, when more had come so than are answered and kept: only counted, under this one name.
  case keylessBeyondLimit = 43
  /// More live requests of its app had come in this hour than are answered with ads (B8).
  case tooManyOfApp = 44
  /// The app is offered less for the actions it stops (A7), this request was not to get a paid ad, and no house ad is
  /// eligible.
  case paidAdsWithheld = 45

  package static let vocabulary = "decision_reason"
}

extension DecisionReason {
  package static let fills = allCases.filter(\.isFill)
  package static let liveFills = allCases.filter(\.isLiveFill)

  /// Whether an ad was served.
  package var isFill: Bool { error == nil }

  /// Whether an advertiser's or a house's own ad was served, to a user.
  package var isLiveFill: Bool { isFill && self != .servedTest }

  /// What the request is answered with: it follows from the reason alone, but for an error that did not happen (A2). Nil
  /// where an ad was served.
  package var error: AdError? {
    switch self {
    case .served, .servedHouse, .servedTest: nil
    case .deadlinePassed, .catalogIncomplete, .keyNotYetKnown: .serverFailure
    case .tooSoon, .tooManyAtOnce, .tooManyOfApp: .loadingThrottled
    case .countryNotServed, .noEligibleAd, .noAllotment, .paidAdsSuspended, .paidAdsStopped, .paidAdsWithheld,
      .testUnfilled:
      .inventoryUnavailable
    case .unknownKey, .revokedKey, .keyOfAnotherApp, .unknownApp, .agreementUnsigned, .audienceUnanswered,
      .adsNotEnabled, .sizeRefused, .requestInvalid, .keylessBeyondLimit:
      .configurationError
    case .duplicate, .testError: .unknown
    }
  }

  /// Whether it came without the key of the app that it names: then it counts for no app (M1, A1). A revoked key is no
  /// key: whoever found it out could go on counting on the app that revoked it.
  package var isWithoutAppKey: Bool {
    switch self {
    case .unknownKey, .revokedKey, .keyOfAnotherApp, .keyNotYetKnown, .keylessBeyondLimit: true
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
      .paidAdsStopped, .paidAdsWithheld, .testUnfilled, .testError, .countryNotServed:
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

extension DecisionReason {
  package var rule: String? {
    switch self {
    case .served: "B1"
    case .servedTest, .testUnfilled, .testError: "A2"
    case .unknownKey, .revokedKey, .keyOfAnotherApp, .unknownApp, .keyNotYetKnown, .keylessBeyondLimit: "A1"
    case .agreementUnsigned, .adsNotEnabled: "A3"
    case .audienceUnanswered: "A9"
    case .sizeRefused: "S3"
    case .requestInvalid: "M1"
    case .countryNotServed: "A5"
    case .noEligibleAd: "A6"
    case .noAllotment: "B4"
    case .tooSoon: "D2"
    case .tooManyAtOnce: "D3"
    case .tooManyOfApp: "B8"
    case .paidAdsWithheld: "A7"
    case .servedHouse, .duplicate, .deadlinePassed, .paidAdsSuspended, .catalogIncomplete, .paidAdsStopped: nil
    }
  }

  package var meaning: String {
    switch self {
    case .served: "a paid ad was served"
    case .servedHouse: "a house ad was served, since no paid one was to be had"
    case .servedTest: "a test ad was served"
    case .duplicate: "the same request had come within 60 s"
    case .deadlinePassed: "its deadline had passed before it was decided, so there was no auction"
    case .unknownKey: "its app key is not registered"
    case .revokedKey: "its app key is revoked"
    case .keyOfAnotherApp: "its app key belongs to another app"
    case .unknownApp: "its key's app is not in the catalogue"
    case .agreementUnsigned: "the app's developer has not signed the agreement"
    case .audienceUnanswered: "it was never said whether the app is aimed at users under 17"
    case .adsNotEnabled: "ads are not enabled for the app"
    case .sizeRefused: "its sizes are unknown, do not hold the current one, or are not for the device"
    case .requestInvalid: "something in it is missing or beyond its limits"
    case .countryNotServed: "the network does not operate in the country"
    case .noEligibleAd: "no ad was eligible"
    case .noAllotment: "ads were eligible, but no budget was left for them here and now"
    case .paidAdsSuspended: "paid ads were suspended for want of the catalogue's heartbeat"
    case .tooSoon: "the same client had asked for the same placement too short a time before"
    case .tooManyAtOnce: "the client had asked too many times at once"
    case .tooManyOfApp: "more requests of its app had come in this hour than are answered with ads"
    case .catalogIncomplete: "the service had not read the whole catalogue yet"
    case .testUnfilled: "test requests are deliberately not all filled"
    case .testError: "test requests deliberately get errors that did not happen"
    case .paidAdsStopped: "the billing circuit breaker had stopped paid ads"
    case .paidAdsWithheld: "paid ads were withheld from it, since its app stops many actions of ads"
    case .keylessBeyondLimit:
      "it came without its app's key when too many had: it was counted, and neither answered nor kept"
    case .keyNotYetKnown: "its app key was not known, and the service had not read the whole catalogue yet"
    }
  }
}
