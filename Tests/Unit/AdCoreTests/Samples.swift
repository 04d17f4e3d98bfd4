import TestValues
import Testing

@testable import AdCore

/// Values that tests begin with and change.
enum Samples {
  /// 2026-01-15T12:00:00Z.
  static let now = Timestamp(milliseconds: 1_768_478_400_000)

  static func terms(issuedAt: Timestamp = now) throws -> ServedTerms {
    try .sample(issuedAt: issuedAt) { terms in
      terms.serveID = UUIDv7(timestamp: issuedAt, randomHigh: 0xABC, randomLow: 0x1234_5678_9ABC_DEF0)
      terms.campaign = try #require(CampaignID("acme-summer-2026-brand"))
      (terms.device, terms.size) = (.pad, .padBannerLandscape)
      (terms.allotment, terms.clientHash) = (0xFEDC_BA98_7654_3210, 0x0123_4567_89AB_CDEF)
    }
  }
}

extension Samples {
  static func advertiser() throws -> Advertiser {
    Advertiser(
      id: try #require(AdvertiserID("acme")), name: "Acme", currency: try #require(Currency("USD")),
      timeZone: "America/New_York", accountFunding: 1_000_000_000_000)
  }

  /// A brand campaign for everybody, whose flight is January 2026.
  static func campaign() throws -> Campaign {
    Campaign(
      id: try #require(CampaignID("acme-summer")), advertiser: try #require(AdvertiserID("acme")), name: "Summer",
      kind: .brand, impressionPrice: Nanos(10_000_000), clickPrice: Nanos(2_000_000_000),
      totalBudget: 1_000_000_000_000, dailyBudget: 100_000_000_000,
      flightStart: try #require(Timestamp(utcText: "2026-01-01T00:00:00Z")),
      flightEnd: try #require(Timestamp(utcText: "2026-02-01T00:00:00Z")), isPaused: false, targeting: Targeting())
  }

  static func ad() throws -> Ad {
    Ad(
      id: try #require(AdID("acme-summer-1")), campaign: try #require(CampaignID("acme-summer")),
      images: [
        .phoneBannerPortrait: "https://images.example/p.png", .phoneBannerLandscape: "https://images.example/l.png",
      ], action: AdAction(kind: .cover, destination: "https://www.acme.example/summer"),
      lifetimeMilliseconds: 600_000, categories: ["cars"], keywords: ["summer"])
  }

  /// An app that is set up.
  static func app() throws -> App {
    App(
      id: try #require(AppID("weather")), developer: try #require(DeveloperID("sunny-apps")), name: "Weather",
      bundleID: "com.example.weather", isAgreementSigned: true, isUnder17: false, areAdsEnabled: true,
      categories: ["weather"])
  }
}
