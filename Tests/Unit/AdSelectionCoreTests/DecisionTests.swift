import AdCore
import AdEvents
import Testing

@testable import AdSelectionCore

@Suite("The decision of a request")
struct DecisionTests {
  @Test("a live request is served the ad with its frozen terms, for every required size (S4, I2)")
  func servesALiveRequest() throws {
    let samples = try Samples()
    var state = samples.state
    let decision = RequestDecision.decide(try samples.request(), state: &state, context: samples.context())
    guard case .served(let serve) = decision.outcome else {
      Issue.record("\(decision)")
      return
    }
    #expect(decision.reason == .served)
    #expect(serve.images.map(\.size) == [.phoneBannerPortrait, .phoneBannerLandscape])
    #expect(serve.terms.impressionPrice == Nanos(10_000_000))
    #expect(serve.terms.clickPrice == Nanos(500_000_000))
    #expect(serve.terms.partition == 3)
    #expect(serve.terms.allotment == 1)
    #expect(serve.terms.budgetDay == Samples.budgetDay)
    #expect(serve.terms.expiresAt == Samples.now.advanced(byMilliseconds: 900_000))
    #expect(serve.terms.size == .phoneBannerPortrait)
    #expect(!serve.terms.isTest)
    #expect(serve.reservation?.usedAfterwards.total == state.allotments.openRows.first?.used)
    #expect(serve.reservation?.amount.value ?? 0 > 10_000_000)
    #expect(decision.explanation.total == decision.explanation.candidates)
    #expect(decision.reason == .served)
  }

  struct Refusal: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let reason: DecisionReason
    var key = Samples.liveKey
    var request: @Sendable (inout AdRequest) -> Void = { _ in }
    var app: @Sendable (inout App) -> Void = { _ in }
  }

  static let refusals: [Refusal] = [
    Refusal(testDescription: "A1: an unknown key", reason: .unknownKey, key: [9, 9, 9]),
    Refusal(testDescription: "A1: a revoked key", reason: .revokedKey, key: Samples.revokedKey),
    Refusal(testDescription: "A1: the key of another app", reason: .keyOfAnotherApp) {
      if let other = AppID("other") { $0.app = other }
    },
    Refusal(
      testDescription: "A3: the agreement is not signed", reason: .agreementUnsigned,
      app: { $0.isAgreementSigned = false }),
    Refusal(
      testDescription: "A9: the audience is not answered", reason: .audienceUnanswered, app: { $0.isUnder17 = nil }),
    Refusal(testDescription: "A3: ads are not enabled", reason: .adsNotEnabled, app: { $0.areAdsEnabled = false }),
    Refusal(testDescription: "S3: an unknown size", reason: .sizeRefused) { $0.requiredSizes = ["huge"] },
    Refusal(testDescription: "S4: the current size is not required", reason: .sizeRefused) {
      $0.requiredSizes = ["portrait"]
      $0.currentSize = "landscape"
    },
    Refusal(testDescription: "S5: an interstitial on a phone", reason: .sizeRefused) { $0.isInterstitial = true },
  ]

  @Test("an app that is not set up for ads is refused with configurationError", arguments: refusals)
  func refuses(_ refusal: Refusal) throws {
    var samples = try Samples()
    refusal.app(&samples.apps[0])
    let decision = samples.decide(try samples.request(key: refusal.key, change: refusal.request))
    #expect(decision.reason == refusal.reason)
    guard case .refused(refusal.reason, let detail) = decision.outcome else {
      Issue.record("\(decision.outcome)")
      return
    }
    #expect(!detail.isEmpty)
    #expect(decision.answer == .error(.configurationError, detail: detail))
  }

  @Test(
    "A1, A2: test builds get test ads whatever the app's set-up, never a paid one",
    arguments: [Samples.testKey, Samples.adHocKey])
  func testBuilds(key: [UInt8]) throws {
    var samples = try Samples()
    samples.apps[0].isAgreementSigned = false
    samples.settings?.testFillBasisPoints = 10_000
    var state = samples.state
    let before = state.allotments
    for number in 1...50 {
      let request = try samples.request(UInt64(number), key: key) {
        $0.requiredSizes = ["mediumRectangle", "portrait"]
      }
      let decision = RequestDecision.decide(request, state: &state, context: samples.context())
      guard case .served(let serve) = decision.outcome else {
        Issue.record("\(decision.outcome)")
        continue
      }
      #expect(decision.reason == .servedTest)
      #expect(serve.terms.isTest && decision.isTest)
      #expect(serve.terms.advertiser.text == "handbill-test")
      #expect(serve.terms.impressionPrice == .zero && serve.terms.clickPrice == .zero && serve.terms.allotment == 0)
      #expect(serve.images.map(\.size) == [.mediumRectangle, .phoneBannerPortrait])
    }
    #expect(state.allotments == before)
  }

  @Test("the same request id within 60 s is a duplicate: answered while its deadline runs, sold and throttled once")
  func duplicates() throws {
    let samples = try Samples()
    var state = samples.state
    let request = try samples.request()
    let first = RequestDecision.decide(request, state: &state, context: samples.context())
    let answer = try #require(first.answer)
    let before = state
    let earlier = request.decided(answer)
    let again = RequestDecision.decide(request, state: &state, context: samples.context(earlier: earlier))
    #expect(again.outcome == .duplicate(of: answer, isAnswered: true))
    #expect(again.answer == answer)
    let late = samples.context(now: request.asked.deadline.advanced(byMilliseconds: 1), earlier: earlier)
    #expect(RequestDecision.decide(request, state: &state, context: late).answer == nil)
    #expect(state == before)

    var afterwards = try samples.request(arrival: Samples.now.advanced(byMilliseconds: 60_000))
    afterwards.request.requestID = request.request.requestID
    let decision = RequestDecision.decide(
      afterwards, state: &state, context: samples.context(now: afterwards.arrival, earlier: earlier))
    #expect(decision.reason == .served)
  }

  @Test("A1: a request id of one client, or of a test build, is not answered with another's decision")
  func duplicatesAreOfOneClient() throws {
    let samples = try Samples()
    var state = samples.state
    let first = try samples.request(1)
    let answer = try #require(RequestDecision.decide(first, state: &state, context: samples.context()).answer)
    var other = try samples.request(2)
    other.request.requestID = first.request.requestID
    let context = samples.context(earlier: first.decided(answer))
    #expect(RequestDecision.decide(other, state: &state, context: context).reason == .served)
    let ofTest = samples.context(earlier: first.decided(answer, isTest: true))
    #expect(RequestDecision.decide(first, state: &state, context: ofTest).reason != .duplicate)
  }

  @Test("a request past its deadline is recorded and gets no auction; asked again in time it is decided")
  func deadline() throws {
    let samples = try Samples()
    var state = samples.state
    let before = state
    let request = try samples.request()
    let late = samples.context(now: request.asked.deadline.advanced(byMilliseconds: 1))
    let decision = RequestDecision.decide(request, state: &state, context: late)
    #expect(decision.outcome == .expiredDeadline)
    #expect(decision.explanation == .empty)
    #expect(state.throttle == before.throttle && state.recent == before.recent && state.allotments == before.allotments)
    var again = request
    again.arrival = late.now
    #expect(RequestDecision.decide(again, state: &state, context: late).reason == .served)
  }

  @Test("D2: the same client and placement within 30 s is throttled; another placement is not")
  func throttles() throws {
    let samples = try Samples()
    var state = samples.state
    func decide(_ number: UInt64, after milliseconds: Int64, _ placement: String = "home") throws -> Decision {
      let arrival = Samples.now.advanced(byMilliseconds: milliseconds)
      let name = try #require(PlacementID(placement))
      var request = try samples.request(number, arrival: arrival) { $0.placement = name }
      request.clientHash = 1
      return RequestDecision.decide(request, state: &state, context: samples.context(now: arrival))
    }
    #expect(try decide(1, after: 0).reason == .served)
    #expect(try decide(2, after: 5_000).outcome == .noAd(.loadingThrottled, .tooSoon))
    #expect(try decide(3, after: 5_000, "list").reason == .served)
    #expect(try decide(4, after: 30_000).reason == .served)
  }

  @Test(
    "D2, D3: who is throttled is told no limit, since a setting may have changed it",
    arguments: [DecisionReason.tooSoon, .tooManyAtOnce])
  func throttledDetail(reason: DecisionReason) {
    // Behind the rule's number.
    let hasNumber = reason.detail.dropFirst(3).contains { $0.isNumber }
    #expect(!hasNumber, "\(reason.detail)")
  }

  @Test(
    "a paid ad suspended for want of a heartbeat, or by the billing circuit breaker, gives way to a house ad",
    arguments: [CatalogFreshness.State.withoutHeartbeat, .stopped])
  func houseWhilePaidAdsAreSuspended(freshness: CatalogFreshness.State) throws {
    var samples = try Samples()
    try samples.add(campaign: "own", ad: "own-1", kind: .house)
    #expect(samples.decide(try samples.request()).reason == .served)
    samples.freshness = freshness
    let decision = samples.decide(try samples.request())
    #expect(decision.reason == .servedHouse)
    #expect(decision.explanation[.paidAdsSuspended] == 1)
    #expect(decision.explanation.total == 2)
  }

  @Test("the same inputs give the same decisions and the same state")
  func isDeterministic() throws {
    var samples = try Samples()
    for number in 1...20 { try samples.add(campaign: "campaign-\(number)", ad: "ad-\(number)") }
    func run() throws -> ([Decision], PartitionState) {
      var state = samples.state
      let context = samples.context()
      let decisions = try (1...200).map { number in
        let key = number % 3 == 0 ? Samples.testKey : Samples.liveKey
        return RequestDecision.decide(try samples.request(UInt64(number), key: key), state: &state, context: context)
      }
      return (decisions, state)
    }
    let (first, second) = (try run(), try run())
    #expect(first.0 == second.0)
    #expect(first.1 == second.1)
    #expect(Set(first.0.map(\.reason)).count > 2)
  }
}
