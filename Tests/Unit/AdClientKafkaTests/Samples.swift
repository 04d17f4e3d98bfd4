import AdBasics
import Testing

@testable import AdClient

/// A moment of the tests' clock.
func ms(_ milliseconds: Int64) -> MonotonicTime { MonotonicTime(milliseconds: milliseconds) }

/// A client identity for tests.
func sampleIdentity() throws -> ClientIdentity {
  ClientIdentity(
    app: try #require(AppID("sample-app")), appKey: "key", clientID: "client-1", sessionID: "session-1",
    country: try #require(Country("US")), device: .phone)
}

/// An ad answered at 0.
func sampleAd(_ token: UInt8 = 1, answeredAt: Int64 = 0) throws -> AdContent {
  let id = ServeID(timestamp: Timestamp(milliseconds: 1_768_478_400_000), randomHigh: 1, randomLow: 2)
  return AdContent(
    ad: try #require(AdID("sample-ad")), images: [.phoneBannerPortrait: "https://images.example/1.png"],
    action: AdAction(kind: .cover, destination: "https://destination.example/"), lifetimeMilliseconds: 900_000,
    isTest: true, serveID: id, requestID: id, token: [token], answeredAt: ms(answeredAt))
}
