import AdCore
import TestValues
import Testing

@Suite("A7: what an app is offered for the ads' actions that it stops")
struct StandingTests {
  private let rules = StandingRules()
  private let app: AppID = known(AppID("chess"))

  private func offer(_ days: (ago: Int64, stopped: Int64, tapped: Int64)..., by rules: StandingRules? = nil) -> Int64 {
    (rules ?? self.rules).standing(
      of: app, days.map { ActionDay(daysAgo: $0.ago, stopped: $0.stopped, tapped: $0.tapped) }
    ).offerPartsPerMillion
  }

  @Test("A7: nothing is lowered up to the share that is tolerated, and a straight line leads from there to the floor")
  func line() {
    let plain = StandingRules(days: 1, priorTaps: 0, toleratedBasisPoints: 2_000, floorBasisPoints: 2_000)
    let shares: [(Int64, Int64)] = [
      (0, 1_000_000), (20, 1_000_000), (30, 900_000), (40, 800_000), (60, 600_000), (100, 200_000),
    ]
    for (stopped, due) in shares { #expect(offer((0, stopped, 100), by: plain) == due, "\(stopped) %") }
    // Nowhere does one more stopped action of ten thousand take more than its part.
    var last = AppStanding.whole
    for stopped in Int64(0)...10_000 {
      let now = offer((0, stopped, 10_000), by: plain)
      #expect(now <= last && last - now <= 101)
      last = now
    }
    #expect(last == 200_000)
  }

  @Test(
    "A7: few taps say little: an app that stops all of its first ten is offered everything, of its first hundred less")
  func prior() {
    #expect(offer((0, 10, 10)) == AppStanding.whole)
    // 100 of 200, the prior's among them, is 30 points beyond what is tolerated, of 80.
    #expect(offer((0, 100, 100)) == 700_000)
    #expect((200_000...210_000).contains(offer((0, 100_000, 100_000))))
  }

  @Test("A7: it recovers as days pass, a little each day, and is whole once all are gone")
  func recovery() {
    let offers = (Int64(0)...7).map { ago in offer((ago, 1_000, 1_000), (0, 0, 200)) }
    for (day, next) in zip(offers, offers.dropFirst()) { #expect(day <= next && next - day <= 170_000) }
    #expect(offers[0] < 450_000 && offers[7] == AppStanding.whole)
    // Nobody taps any more: the prior alone brings it back.
    #expect((0...7).map { offer(($0, 500, 500)) } == (0...7).map { offer(($0, 500, 500)) }.sorted())
    #expect(offer((7, 500, 500)) == AppStanding.whole)
  }

  @Test("A7: a floor of all lowers nobody, and so does a tolerance of all")
  func off() {
    #expect(offer((0, 1_000, 1_000), by: StandingRules(floorBasisPoints: 10_000)) == AppStanding.whole)
    #expect(
      offer((0, 1_000, 1_000), by: StandingRules(priorTaps: 0, toleratedBasisPoints: 10_000)) == AppStanding.whole)
  }

  @Test("A7: counts of any size come to an offer between floor and all, and the figures are the plain sums")
  func bounds() {
    let huge = Int64.max / 4
    #expect((200_000...200_001).contains(offer((0, huge, huge), (1, huge, huge))))
    #expect(offer((0, 0, huge)) == AppStanding.whole)
    let standing = rules.standing(
      of: app, [(0, 3, 7), (6, 2, 2), (7, 100, 100)].map { ActionDay(daysAgo: $0.0, stopped: $0.1, tapped: $0.2) })
    #expect((standing.stopped, standing.tapped) == (5, 9))
  }

  @Test("A7: small steps are no news, the whole offer always is")
  func news() {
    #expect(!StandingRules.isNews(995_001, inForce: 1_000_000) && StandingRules.isNews(990_000, inForce: 1_000_000))
    #expect(StandingRules.isNews(1_000_000, inForce: 999_999) && !StandingRules.isNews(1_000_000, inForce: 1_000_000))
    #expect(StandingRules.isNews(500_000, inForce: 510_000) && !StandingRules.isNews(500_000, inForce: 509_999))
  }

  @Test("A7: settings and standings beyond their bounds are told")
  func faults() {
    let fields = { (record: CatalogRecord) in record.faults().map(\.field) }
    let countries: Set<Country> = [known(Country("US"))]
    #expect(fields(.settings(NetworkSettings(countries: countries))).isEmpty)
    #expect(
      fields(
        .settings(
          NetworkSettings(
            countries: countries,
            standing: StandingRules(days: 0, priorTaps: -1, toleratedBasisPoints: 10_001, floorBasisPoints: -1)))) == [
          "standing.days", "standing.priorTaps", "standing.toleratedBasisPoints", "standing.floorBasisPoints",
        ])
    let standing = AppStanding(app: app, offerPartsPerMillion: 1_000_001, stopped: 3, tapped: 2)
    #expect(fields(.standing(standing)) == ["offerPartsPerMillion", "stopped"])
    #expect(CatalogRecord.standing(standing).key == "standing/chess")
  }
}
