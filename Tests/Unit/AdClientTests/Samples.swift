import AdBasics
import Testing

@testable import AdClient

/// A moment of the tests' clock.
func ms(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: milliseconds) }

let sampleServeID = ServeID(timestamp: Timestamp(milliseconds: 1_768_478_400_000), randomHigh: 1, randomLow: 2)
let sampleRequestID = UUIDv7(timestamp: Timestamp(milliseconds: 1_768_478_400_000), randomHigh: 3, randomLow: 4)

/// An ad answered at `answeredAt`, whose token is `token`.
func sampleAd(
  _ token: UInt8 = 1, kind: AdAction.Kind = .cover, lifetimeMilliseconds: Int64 = 900_000,
  sizes: [AdSize] = [.phoneBannerPortrait, .phoneBannerLandscape], answeredAt: Int64 = 0,
  revenue: AdRevenue = .none
) throws -> AdContent {
  AdContent(
    ad: try #require(AdID("sample-ad")),
    images: Dictionary(uniqueKeysWithValues: sizes.map { ($0, "https://images.example/\($0.rawValue).png") }),
    action: AdAction(kind: kind, destination: "https://destination.example/"),
    lifetimeMilliseconds: lifetimeMilliseconds, isTest: true, serveID: sampleServeID,
    requestID: sampleRequestID, token: [token], answeredAt: ms(answeredAt), revenue: revenue)
}

extension AdReport {
  static func ad(_ kind: Kind, _ ad: AdContent, _ milliseconds: Int64) -> AdReport {
    AdReport(kind, .ad(ad), at: ms(milliseconds))
  }

  static func request(_ kind: Kind, _ number: Int, _ milliseconds: Int64) -> AdReport {
    AdReport(kind, .request(number), at: ms(milliseconds))
  }
}

extension BannerStateMachine {
  /// The app says yes, and what covers is there at once.
  mutating func beginAction(at now: MonotonicTime) -> [BannerAction] {
    decide(shouldBegin: true, at: now) + coverFetched(true, number: 1, at: now)
  }
}

extension InterstitialStateMachine {
  /// The app says yes, and what covers is there at once.
  mutating func beginAction(at now: MonotonicTime) -> [InterstitialAction] {
    decide(shouldBegin: true, at: now) + coverFetched(true, number: 1, at: now)
  }
}
