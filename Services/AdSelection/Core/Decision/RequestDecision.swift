internal import AdCore
internal import AdEvents

/// The decision of one request: a pure function of request, state and context. In this order, and the first that
/// applies decides:
///
/// 1. without its app's key (A1): `configurationError`, also where the request came before with the key;
/// 2. the same request id within 60 s: `duplicate`;
/// 3. the deadline has passed: `expiredDeadline`;
/// 4. the catalogue is not complete: `serverFailure`, or more live requests of its app have come in this hour than are
///    answered with ads (B8): `loadingThrottled`;
/// 5. a mistake that makes it a rejected record: `configurationError`;
/// 6. for a distribution build, the app's set-up (A3, A9): `configurationError`;
/// 7. the sizes (S3, S4, S5): `configurationError`;
/// 8. throttling (D2, D3), by the moment of arrival: `loadingThrottled`;
/// 9. a developer or ad-hoc build: a test ad, nothing, or an injected error (A1, A2);
/// 10. the country (A5), then the auction, without paid ads for some requests of an app that stops many actions (A7): an ad
///     or `inventoryUnavailable`.
package enum RequestDecision {
  /// Decides a request, and changes `state` by what that uses. One with a mistake counts as one (M1), and its answer is
  /// the sentence that says what to change.
  package static func decide(
    _ incoming: IncomingRequest, asked: AskedRequest, state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    var decision: Decision
    switch incoming.content {
    case .sound(let request):
      decision = decide(asked, keyHash: incoming.appKeyHash, state: &state, context: context) { build, asked, state in
        var facts = Facts(request: request, asked: asked, isTest: build != .distribution)
        return decideAnew(&facts, build: build, state: &state, context: context)
      }
    case .mistaken(let legible, let rejection):
      let mistake = [rejection.detail, legible.sizeMistake].compactMap { $0 }.joined(separator: "; ")
      decision = decide(asked, keyHash: incoming.appKeyHash, state: &state, context: context) { build, _, _ in
        Decision(
          outcome: .refused(.requestInvalid, detail: mistake), reason: .requestInvalid, isTest: build != .distribution)
      }
      if decision.reason.isWithoutAppKey, case .refused(let reason, let detail) = decision.outcome {
        decision.outcome = .refused(reason, detail: "\(detail); \(mistake)")
      }
    }
    if decision.size == nil {
      // It was refused before its sizes mattered: its report's line has them all the same.
      let legible = incoming.legible
      decision.size = legible.device.flatMap { legible.sizes?.size(on: $0) }
    }
    return decision
  }

  /// What is the same for all requests: whose it is, whether it came before, whether anything can be decided now.
  private static func decide(
    _ asked: AskedRequest, keyHash: [UInt8]?, state: inout PartitionState, context: DecisionContext,
    anew: (BuildKind, AskedRequest, inout PartitionState) -> Decision
  ) -> Decision {
    switch KeyAdmission.judge(keyHash, of: asked.app, snapshot: context.snapshot) {
    case .refused(.unknownKey, _) where context.freshness == .incomplete:
      return Decision(outcome: .noAd(.serverFailure, .keyNotYetKnown), reason: .keyNotYetKnown)
    case .refused(let reason, let detail): return Decision(outcome: .refused(reason, detail: detail), reason: reason)
    case .admitted(let build):
      var asked = asked
      // A1: which build it is, the key says.
      asked.placement = state.placements.counted(
        asked.placement, of: asked.app, isTest: build != .distribution, at: asked.moment(now: context.now))
      var decision = decide(asked, build: build, state: &state, context: context, anew: anew)
      decision.placement = asked.placement
      return decision
    }
  }

  /// The same for requests with their app's key.
  private static func decide(
    _ asked: AskedRequest, build: BuildKind, state: inout PartitionState, context: DecisionContext,
    anew: (BuildKind, AskedRequest, inout PartitionState) -> Decision
  ) -> Decision {
    let isTest = build != .distribution
    let key = RequestKey(requestID: asked.requestID, client: asked.clientHash, isTest: isTest)
    let moment = asked.moment(now: context.now)
    if let earlier = context.earlier, earlier.key == key,
      state.recent.id(of: key.requestID, client: key.client, now: moment) != nil
    {
      let outcome = DecisionOutcome.duplicate(of: earlier.answer, isAnswered: context.now <= asked.deadline)
      return Decision(outcome: outcome, reason: .duplicate, isTest: isTest)
    }
    // Whatever becomes of it, it counts for its app (M1).
    let isBeyondCap =
      !isTest && !state.requests.count(asked.app, at: moment, maximum: context.appRequestsMaximum)
    guard context.now <= asked.deadline else {
      return Decision(outcome: .expiredDeadline, reason: .deadlinePassed, isTest: isTest)
    }
    guard context.freshness != .incomplete else {
      let outcome = DecisionOutcome.noAd(.serverFailure, .catalogIncomplete)
      return Decision(outcome: outcome, reason: .catalogIncomplete, isTest: isTest)
    }
    let decision =
      isBeyondCap
      ? Decision(outcome: .noAd(.loadingThrottled, .tooManyOfApp), reason: .tooManyOfApp)
      : anew(build, asked, &state)
    if decision.reason.isRemembered {
      state.recent.note(key.requestID, client: key.client, id: context.serveID, at: moment)
    }
    return decision
  }

  private static func decideAnew(
    _ facts: inout Facts, build: BuildKind, state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    let request = facts.request
    let app: RegisteredApp
    switch AppAdmission.judge(request.app, build: build, snapshot: context.snapshot) {
    case .refused(let reason, let detail): return facts.decision(.refused(reason, detail: detail), reason)
    case .admitted(let admitted): app = admitted
    }

    let builder: ServeBuilder
    switch SizeSelection.select(
      required: request.requiredSizes, current: request.currentSize, device: request.device,
      isInterstitial: request.isInterstitial)
    {
    case .refused(_, let detail): return facts.decision(.refused(.sizeRefused, detail: detail), .sizeRefused)
    case .resolved(let required, let current):
      builder = ServeBuilder(app: app, requiredSizes: required, currentSize: current)
      facts.currentSize = current
    }

    switch state.throttle.admit(
      client: facts.asked.clientHash, placement: facts.placement, isInterstitial: request.isInterstitial,
      now: facts.asked.moment(now: context.now))
    {
    case .tooSoon: return facts.noAd(.tooSoon)
    case .tooManyAtOnce: return facts.noAd(.tooManyAtOnce)
    case .admitted: break
    }

    return facts.isTest
      ? decideTest(facts, builder: builder, state: &state, context: context)
      : decideLive(facts, builder: builder, state: &state, context: context)
  }

  private static func decideTest(
    _ facts: Facts, builder: ServeBuilder, state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    let settings = context.snapshot.settings ?? NetworkSettings(countries: [])
    let testAds = TestAds(
      seed: context.seed, fillBasisPoints: settings.testFillBasisPoints,
      errorBasisPoints: settings.testErrorBasisPoints)
    let client = facts.asked.clientHash
    switch testAds.outcome(client: client, ordinal: state.testSequence.next(for: client, at: context.now)) {
    case .unfilled: return facts.noAd(.testUnfilled)
    case .injected(let error): return facts.noAd(.testError, error)
    case .ad(let ad): return facts.decision(.served(builder.serve(ad, for: facts, in: context)), .servedTest)
    }
  }

  private static func decideLive(
    _ facts: Facts, builder: ServeBuilder, state: inout PartitionState, context: DecisionContext
  ) -> Decision {
    let request = facts.request
    let paidAds = LiveAuction.paidAds(for: request.requestID, of: builder.app, in: context)
    let inputs = AuctionInputs(
      catalogChange: context.snapshot.changeNumber, paidAds: paidAds,
      requiredSizes: builder.requiredSizes, segments: request.segments, isInterstitial: request.isInterstitial)
    let result = LiveAuction.hold(
      LiveAuction.Request(
        requestID: request.requestID, app: builder.app.app.id, country: request.country, device: request.device,
        requiredSizes: builder.requiredSizes, segments: request.segments),
      app: builder.app, paidAds: paidAds, state: &state, context: context)
    guard let winner = result.winner else {
      return facts.noAd(result.reason, explanation: result.explanation, inputs: inputs)
    }
    let reservation =
      winner.isHouse
      ? nil : state.allotments.reserve(campaign: winner.campaign, price: winner.price, now: context.now)
    let serve = builder.serve(winner, reservation: reservation, for: facts, in: context)
    return facts.decision(.served(serve), result.reason, result.explanation, inputs: inputs)
  }
}

/// What has become known of a request while it is being decided.
struct Facts {
  let request: AdRequest
  let asked: AskedRequest
  let isTest: Bool
  /// What the request's placement counts as.
  var placement: PlacementID { asked.placement ?? request.placement }
  /// Nil until the request's sizes are resolved.
  var currentSize: AdSize?

  /// No ad, with the error of the reason or one that did not happen (A2).
  func noAd(
    _ reason: DecisionReason, _ injected: AdError? = nil, explanation: Explanation = .empty,
    inputs: AuctionInputs? = nil
  ) -> Decision {
    decision(.noAd(injected ?? reason.error ?? .unknown, reason), reason, explanation, inputs: inputs)
  }

  func decision(
    _ outcome: DecisionOutcome, _ reason: DecisionReason, _ explanation: Explanation = .empty,
    inputs: AuctionInputs? = nil
  ) -> Decision {
    Decision(
      outcome: outcome, reason: reason, explanation: explanation, size: currentSize, isTest: isTest, inputs: inputs)
  }
}
