import AdCore
import AdEvents
import TestValues
import Testing

@testable import AdSelectionCore

@Suite("What an answer says that an impression brings")
struct RevenueTests {
  private func revenue(_ change: (inout ServedTerms) -> Void) throws -> ServedAd.Revenue? {
    var terms = ServedTerms.sample()
    change(&terms)
    let serve = Serve(
      terms: terms, images: [], action: AdAction(kind: .cover, destination: "https://a.example"),
      lifetimeMilliseconds: 900_000, reservation: nil)
    return serve.servedAd(
      token: [1], pacing: SelectionSettings().pacing, references: try ClickReferences(ring: .sample(1)),
      countsBySession: false
    ).revenue
  }

  @Test("B2, B3: it is the developer's part of what billing will split, rounded as there")
  func share() throws {
    for (price, basisPoints) in [(10_000_000, 6_000), (3, 5_000), (1, 9_999), (7, 0), (Int64.max, 10_000)] {
      let told = try revenue {
        $0.impressionPrice = Nanos(Int64(price))
        $0.shareBasisPoints = UInt16(basisPoints)
      }
      let share = try #require(RevenueShare(basisPoints: UInt16(basisPoints)))
      #expect(told?.amount == share.split(Nanos(Int64(price))).developer)
      #expect(told?.currency == ServedTerms.sample().currency)
    }
    let half = try revenue { ($0.impressionPrice, $0.shareBasisPoints) = (Nanos(3), 5_000) }
    #expect(half?.amount == Nanos(2), "half up")
  }

  @Test("M1, M5, M7, D2: it tells what clients go by: the network's windows")
  func pacing() {
    var settings = SelectionSettings()
    settings.windows.viewMilliseconds = 1_500
    settings.windows.bannerRefreshMilliseconds = 60_000
    settings.windows.accidentalActionMilliseconds = 2_500
    settings.windows.tapDelayMilliseconds = 200...9_000
    settings.viewBasisPoints = 7_000
    #expect(
      settings.pacing
        == AdPacing(
          refreshMilliseconds: 60_000, viewMilliseconds: 1_500, viewBasisPoints: 7_000, actionMilliseconds: 2_500,
          tapDelayMilliseconds: 200))
  }

  @Test("I8, B1: a test ad brings nothing, nor does an ad that pays for clicks only")
  func nothing() throws {
    #expect(try revenue { ($0.isTest, $0.impressionPrice) = (true, Nanos(5)) }?.amount == .zero)
    #expect(try revenue { $0.impressionPrice = .zero }?.amount == .zero)
  }
}
