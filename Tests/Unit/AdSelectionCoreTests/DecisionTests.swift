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
    #expect(serve.reservation?.usedAfterwards == state.allotments.openRows.first?.used)
    #expect(serve.reservation?.amount.value ?? 0 > 10_000_000)
    #expect(decision.explanation.total == decision.explanation.candidates)
    #expect(decision.countKey.reason == .served)
  }
}
