import AdCore
import AdEvents
import Pipeline
import Testing

@testable import ClickTrackingCore

/// Values that tests begin with and change.
enum Samples {
  /// 2026-01-15T12:00:00Z.
  static let now = Timestamp(milliseconds: 1_768_478_400_000)
  static let partition: Int32 = 7

  /// Terms of an ad served `issuedMilliseconds` after ``now``; equal numbers are equal serves.
  static func terms(
    serve: UInt64 = 1, client: UInt64 = 1, issuedMilliseconds: Int64 = 0, partition: Int32 = partition
  ) throws -> ServedTerms {
    let issuedAt = now.advanced(byMilliseconds: issuedMilliseconds)
    return ServedTerms(
      serveID: UUIDv7(timestamp: issuedAt, randomHigh: 0, randomLow: serve), partition: partition, issuedAt: issuedAt,
      expiresAt: issuedAt.advanced(byMilliseconds: 900_000), app: try #require(AppID("weather")),
      developer: try #require(DeveloperID("sunny-apps")), advertiser: try #require(AdvertiserID("acme")),
      campaign: try #require(CampaignID("acme-summer")), ad: try #require(AdID("acme-summer-1")),
      placement: try #require(PlacementID("home")), country: try #require(Country("US")), device: .phone,
      size: .phoneBannerPortrait, impressionPrice: Nanos(10_000_000), clickPrice: Nanos(2_000_000_000),
      currency: try #require(Currency("USD")), shareBasisPoints: 6_000, allotment: 42, budgetDay: 20_468,
      clientHash: client, isTest: false)
  }

  /// A click at `age` milliseconds whose action left the application at once, unless said otherwise.
  static func click(
    _ terms: ServedTerms, id: UInt64, age: Int64, action: Int64 = 0, left: Bool = true, kind: ClickEvent.Kind = .click
  ) -> ClickInput {
    .action(
      ActionEvent(
        kind: kind, terms: terms, age: .milliseconds(age), claimedTime: nil, idHash: id, actionMilliseconds: action,
        leftApplication: left))
  }

  static func impression(_ terms: ServedTerms, age: Int64) -> ClickInput {
    let time = terms.issuedAt.advanced(byMilliseconds: age)
    return .impression(
      AcceptedImpression(terms: terms, eventTime: time, arrival: time.advanced(byMilliseconds: 20)))
  }
}

/// Repeatable random numbers (xorshift with a multiplier).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed | 1 }

  mutating func next() -> UInt64 {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return state &* 0x2545_F491_4F6C_DD1D
  }
}

/// All orders of some things.
func permutations<Element>(_ elements: [Element]) -> [[Element]] {
  guard let last = elements.last else { return [[]] }
  return permutations(elements.dropLast()).flatMap { shorter in
    (0...shorter.count).map { place in
      var longer = shorter
      longer.insert(last, at: place)
      return longer
    }
  }
}
