import TestValues
import Testing

@testable import AdBasics
@testable import AdCore

/// Values that tests begin with and change.
enum Samples {
  static let now = Timestamp.sample

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
    .sample { $0.timeZone = "America/New_York" }
  }

  /// A brand campaign for everybody, whose flight is January 2026.
  static func campaign() throws -> Campaign {
    .sample {
      $0.dailyBudget = 100_000_000_000
      $0.flightStart = known(Timestamp(utcText: "2026-01-01T00:00:00Z"))
      $0.flightEnd = known(Timestamp(utcText: "2026-02-01T00:00:00Z"))
    }
  }

  static func ad() throws -> Ad {
    .sample { ($0.categories, $0.keywords) = (["cars"], ["summer"]) }
  }

  /// An app that is set up.
  static func app() throws -> App { .sample() }
}
