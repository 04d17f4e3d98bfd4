internal import AdCore
internal import AdEvents

/// The decision of one request: a pure function of request, state and context. In this order, and the first that
/// applies decides:
///
/// 1. the same request id within 60 s: `duplicate`;
/// 2. the deadline has passed: `expiredDeadline`;
/// 3. the catalogue is not complete: `serverFailure`;
/// 4. the app key (A1), then, for a distribution build, the app's set-up (A3, A9): `configurationError`;
/// 5. the sizes (S3, S4, S5): `configurationError`;
/// 6. throttling (D2, D3): `loadingThrottled`;
/// 7. a developer or ad-hoc build: a test ad, nothing, or an injected error (A1, A2);
/// 8. the country (A5), then the auction: an ad or `inventoryUnavailable`.
package enum RequestDecision {
  /// Decides `arrived` and changes `state` by what that uses.
  package static func decide(
    _ arrived: ArrivedRequest, state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    let now = context.now
    let key = context.snapshot.appKey(hash: arrived.appKeyHash)
    // A1: which build it is, the key says. A request without a valid key counts as a live one (M1).
    var facts = Facts(arrived, isTest: key.map { $0.build != .distribution } ?? false)
    if let earlier = state.recent.decision(for: arrived.key, now: now) {
      let outcome = DecisionOutcome.duplicate(of: earlier, isAnswered: now <= arrived.deadline)
      return facts.decision(outcome, .duplicate)
    }
    let decision = decideAnew(&facts, key: key, state: &state, context: context)
    if decision.reason.isRemembered, let answer = decision.answer {
      state.recent.note(answer, for: arrived.key, at: now)
    }
    return decision
  }

  private static func decideAnew(
    _ facts: inout Facts, key: AppKey?, state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    let arrived = facts.arrived
    let request = arrived.request
    guard context.now <= arrived.deadline else { return facts.decision(.expiredDeadline, .deadlinePassed) }
    guard context.freshness != .incomplete else { return facts.noAd(.serverFailure, .catalogIncomplete) }

    let app: App
    switch AppAdmission.judge(request: request, key: key, snapshot: context.snapshot) {
    case .refused(let reason, let detail): return facts.decision(.refused(reason, detail: detail), reason)
    case .admitted(let admitted): app = admitted
    }

    let requiredSizes: [AdSize]
    switch SizeSelection.select(
      required: request.requiredSizes, current: request.currentSize, device: request.device,
      isInterstitial: request.isInterstitial)
    {
    case .refused(_, let detail): return facts.decision(.refused(.sizeRefused, detail: detail), .sizeRefused)
    case .resolved(let required, let current):
      requiredSizes = required
      facts.currentSize = current
    }

    switch state.throttle.admit(
      client: arrived.clientHash, placement: request.placement, isInterstitial: request.isInterstitial,
      now: context.now)
    {
    case .tooSoon: return facts.noAd(.loadingThrottled, .tooSoon)
    case .tooManyAtOnce: return facts.noAd(.loadingThrottled, .tooManyAtOnce)
    case .admitted: break
    }

    return facts.isTest
      ? decideTest(facts, app: app, requiredSizes: requiredSizes, state: &state, context: context)
      : decideLive(facts, app: app, requiredSizes: requiredSizes, state: &state, context: context)
  }

  private static func decideTest(
    _ facts: Facts, app: App, requiredSizes: [AdSize], state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    let settings = context.snapshot.settings ?? NetworkSettings(countries: [])
    let testAds = TestAds(
      seed: context.seed, fillBasisPoints: settings.testFillBasisPoints,
      errorBasisPoints: settings.testErrorBasisPoints)
    let client = facts.arrived.clientHash
    switch testAds.outcome(client: client, ordinal: state.testSequence.next(for: client)) {
    case .unfilled: return facts.noAd(.inventoryUnavailable, .testUnfilled)
    case .injected(let error): return facts.noAd(error, .testError)
    case .ad(let ad):
      guard let serve = ServeBuilder(facts, app: app, requiredSizes: requiredSizes, context: context)?.serve(ad) else {
        return facts.noAd(.unknown, .testError)
      }
      return facts.decision(.served(serve), .servedTest)
    }
  }

  private static func decideLive(
    _ facts: Facts, app: App, requiredSizes: [AdSize], state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    let request = facts.arrived.request
    guard context.snapshot.settings?.isServed(request.country) ?? false else {
      return facts.noAd(.inventoryUnavailable, .countryNotServed)
    }
    let isSuspended = context.freshness == .withoutHeartbeat || context.freshness == .stopped
    let query = AdEligibility.Request(
      country: request.country, device: request.device, requiredSizes: requiredSizes,
      segments: Set(request.segments))
    let result = Auction.run(
      query, in: app, requestID: request.requestID, snapshot: context.snapshot, allotments: state.allotments,
      arePaidAdsSuspended: isSuspended, now: context.now, seed: context.seed)
    let builder = ServeBuilder(facts, app: app, requiredSizes: requiredSizes, context: context)
    guard let winner = result.winner, let builder else {
      let reason: DecisionReason =
        if isSuspended && result.explanation[.paidAdsSuspended] > 0 {
          context.freshness == .stopped ? .paidAdsStopped : .paidAdsSuspended
        } else if result.explanation[.noAllotment] > 0 {
          .noAllotment
        } else {
          .noEligibleAd
        }
      return facts.noAd(.inventoryUnavailable, reason, result.explanation)
    }
    let candidate = context.snapshot.candidates[winner]
    let reservation =
      candidate.kind == .house ? nil : state.allotments.reserve(for: candidate, now: context.now)
    let serve = builder.serve(candidate, reservation: reservation)
    return facts.decision(.served(serve), candidate.kind == .house ? .servedHouse : .served, result.explanation)
  }
}

/// What has become known of a request while it is being decided.
struct Facts {
  let arrived: ArrivedRequest
  let isTest: Bool
  /// Nil until the request's sizes are resolved.
  var currentSize: AdSize?

  init(_ arrived: ArrivedRequest, isTest: Bool) {
    self.arrived = arrived
    self.isTest = isTest
  }

  func noAd(_ error: AdError, _ reason: DecisionReason, _ explanation: Explanation = .empty) -> Decision {
    decision(.noAd(error, reason), reason, explanation)
  }

  func decision(
    _ outcome: DecisionOutcome, _ reason: DecisionReason, _ explanation: Explanation = .empty
  ) -> Decision {
    let request = arrived.request
    let key = MinuteCountKey(
      minute: MinuteCountKey.minute(of: arrived.arrival), app: request.app, placement: request.placement,
      country: request.country, device: request.device, size: currentSize, reason: reason, isTest: isTest)
    return Decision(outcome: outcome, reason: reason, explanation: explanation, countKey: key)
  }
}
