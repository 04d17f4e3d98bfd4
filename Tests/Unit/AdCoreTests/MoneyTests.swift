import TestValues
import Testing

@testable import AdBasics
@testable import AdCore

@Suite("B3: money")
struct MoneyTests {
  @Test(
    "Amounts are shown exactly, with two to nine decimals, and read back the same",
    arguments: [
      (0, "0.00"), (1, "0.000000001"), (-1, "-0.000000001"), (10_000_000, "0.01"), (500_000_000, "0.50"),
      (2_287_000_000_000, "2287.00"), (1_372_200_000_000, "1372.20"), (1_234_567_891, "1.234567891"),
      (-1_100_000_000, "-1.10"), (1_001_000_000, "1.001"),
      (Nanos.sumMaximum, "99999999999999999999999999999.999999999"),
      (-Nanos.sumMaximum, "-99999999999999999999999999999.999999999"),
    ] as [(Int128, String)])
  func texts(nanos: Int128, text: String) {
    #expect(MoneyText.format(nanos) == text)
    #expect(MoneyText.parse(text) == nanos)
  }

  @Test("Fewer decimals are read as well", arguments: [("5", 5_000_000_000), ("5.1", 5_100_000_000), ("-0", 0)])
  func shortTexts(text: String, nanos: Int128) {
    #expect(MoneyText.parse(text) == nanos)
  }

  @Test(
    "What is no amount is not read",
    arguments: [
      "", "-", ".", "5.", ".5", "+5", "5,00", "1e3", " 5", "5 ", "0x5", "--5", "5.-1", "5.0000000000", "1.2.3", "٥",
      "100000000000000000000000000000", "99999999999999999999999999999999999999999999999999",
    ])
  func noTexts(text: String) {
    #expect(MoneyText.parse(text) == nil)
  }
}

@Suite("B2, B3: the revenue share")
struct RevenueShareTests {
  /// The share by the definition: the floor of amount x share / 10,000 + 1/2, in wide integers.
  private static func oracle(_ amount: Int64, _ basisPoints: UInt16) -> Int64 {
    Int64((Int128(amount) * Int128(basisPoints) * 2 + 10_000) / 20_000)
  }

  @Test("B2: 60 % of 2.00 is 1.20, and the network's 0.80")
  func defaultShare() throws {
    let parts = try #require(RevenueShare(basisPoints: 6_000)).split(Nanos(2_000_000_000))
    #expect(parts == RevenueShare.Parts(developer: Nanos(1_200_000_000), network: Nanos(800_000_000)))
  }

  @Test(
    "B2: half of a nano goes to the developer, less does not",
    arguments: [(1, 4_999, 0), (1, 5_000, 1), (1, 5_001, 1), (3, 5_000, 2), (1, 0, 0), (1, 10_000, 1)])
  func halves(amount: Int64, basisPoints: UInt16, developer: Int64) throws {
    let parts = try #require(RevenueShare(basisPoints: basisPoints)).split(Nanos(amount))
    #expect(parts.developer.value == developer && parts.network.value == amount - developer)
  }

  @Test("A share above the whole is none")
  func range() {
    #expect(RevenueShare(basisPoints: 10_000)?.basisPoints == 10_000)
    #expect(RevenueShare(basisPoints: 10_001) == nil)
  }

  @Test("B3: for any amount and share the parts add up, have the amount's sign and are rounded half up")
  func property() throws {
    var random = SeededChance(seed: 1)
    let edges: [Int64] = [0, 1, 2, 9_999, 10_000, 10_001, .max - 1, .max]
    let amounts =
      edges + (0..<5_000).map { _ in Int64(truncatingIfNeeded: random.next() >> (1 + random.next() % 63)) }
    for amount in amounts {
      let basisPoints = UInt16.random(in: 0...10_000, using: &random)
      let share = try #require(RevenueShare(basisPoints: basisPoints))
      let parts = share.split(Nanos(amount))
      #expect(parts.developer.value == Self.oracle(amount, basisPoints))
      #expect(Int128(parts.developer.value) + Int128(parts.network.value) == Int128(amount))
      #expect(parts.developer >= .zero && parts.network >= .zero)
      let credit = share.split(Nanos(-amount))
      #expect(credit.developer.value == -parts.developer.value && credit.network.value == -parts.network.value)
    }
    for basisPoints: UInt16 in [0, 6_000, 10_000] {
      let parts = try #require(RevenueShare(basisPoints: basisPoints)).split(Nanos(.min))
      #expect(Int128(parts.developer.value) + Int128(parts.network.value) == Int128(Int64.min))
    }
  }
}

@Suite("M: figures")
struct FigureTests {
  @Test("The golden case comes out to the last digit")
  func golden() throws {
    let impressions: Int64 = 9_300
    let clicks: Int64 = 1_097
    #expect(Hundredths.percent(impressions, of: 26_651)?.description == "34.90")
    #expect(Hundredths.percent(clicks, of: impressions)?.description == "11.80")
    let share = try #require(RevenueShare(basisPoints: 6_000))
    // 10.00 CPM is 10,000,000 micros for a thousand, and so as many nanos for one.
    let view = Nanos(10_000_000)
    let click = Nanos(2_000_000_000)
    var gross: Int128 = 0
    var developer: Int128 = 0
    for _ in 0..<impressions {
      gross += Int128(view.value)
      developer += Int128(share.split(view).developer.value)
    }
    for _ in 0..<clicks {
      gross += Int128(click.value)
      developer += Int128(share.split(click).developer.value)
    }
    #expect(MoneyText.format(gross) == "2287.00" && MoneyText.format(developer) == "1372.20")
    #expect(Hundredths.perThousand(revenue: developer, impressions: impressions)?.description == "147.55")
    #expect(Hundredths.perThousand(revenue: gross, impressions: impressions)?.description == "245.91")
  }

  @Test(
    "M1, M2: ratios are in percent with two decimals, rounded half up",
    arguments: [
      (2, 3, "66.67"), (1, 2, "50.00"), (1, 3, "33.33"), (0, 5, "0.00"), (5, 5, "100.00"), (7, 5, "140.00"),
      (1, 20_000, "0.01"), (1, 20_001, "0.00"), (1, 1_000, "0.10"), (Int64.max, 1, "922337203685477580700.00"),
    ])
  func percents(part: Int64, whole: Int64, text: String) {
    #expect(Hundredths.percent(part, of: whole)?.description == text)
  }

  @Test("M3: eCPM is rounded half up, to the nano")
  func perThousand() {
    // 0.005 for a thousand: half of the last digit shown.
    #expect(Hundredths.perThousand(revenue: 5_000, impressions: 1)?.description == "0.01")
    #expect(Hundredths.perThousand(revenue: 4_999, impressions: 1)?.description == "0.00")
    #expect(Hundredths.perThousand(revenue: -5_000, impressions: 1)?.description == "0.00")
    #expect(Hundredths.perThousand(revenue: -5_001, impressions: 1)?.description == "-0.01")
    let most = Hundredths.perThousand(revenue: Nanos.sumMaximum, impressions: 1)
    #expect(most?.value == Nanos.sumMaximum / 10_000 + 1)
  }

  @Test("M6: with a denominator of 0 a ratio is absent")
  func absent() {
    #expect(Hundredths.percent(0, of: 0) == nil)
    #expect(Hundredths.percent(1, of: 0) == nil)
    #expect(Hundredths.perThousand(revenue: 1, impressions: 0) == nil)
  }
}
