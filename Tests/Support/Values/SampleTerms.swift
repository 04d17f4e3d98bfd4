package import AdCore

extension Timestamp {
  /// 2026-01-15T12:00:00Z: when whatever needs no other time happens.
  package static let sample = Timestamp(milliseconds: 1_768_478_400_000)
}

extension ServedTerms {
  /// Terms as ad selection freezes them: a phone's banner for 10.00 per thousand and 2.00 per click, which counts for a
  /// quarter of an hour. Equal numbers are equal serves.
  ///
  /// Whoever adds a field to the terms gives it a value here, and nowhere else.
  package static func sample(
    serve: UInt64 = 1, partition: Int32 = 7, issuedAt: Timestamp = .sample
  ) -> ServedTerms {
    ServedTerms(
      serveID: ServeID(timestamp: issuedAt, randomHigh: 1, randomLow: serve), partition: partition, issuedAt: issuedAt,
      expiresAt: issuedAt.advanced(byMilliseconds: 900_000), app: known(AppID("weather")),
      developer: known(DeveloperID("sunny-apps")), advertiser: known(AdvertiserID("acme")),
      campaign: known(CampaignID("acme-summer")), ad: known(AdID("acme-summer-1")),
      placement: known(PlacementID("home")), country: known(Country("US")), device: .phone,
      size: .phoneBannerPortrait, impressionPrice: Nanos(10_000_000), clickPrice: Nanos(2_000_000_000),
      currency: known(Currency("USD")), shareBasisPoints: 6_000, allotment: 42, budgetDay: 20_468, clientHash: 1,
      isTest: false)
  }

  /// The same with what matters changed.
  package static func sample(
    serve: UInt64 = 1, partition: Int32 = 7, issuedAt: Timestamp = .sample,
    change: (inout ServedTerms) throws -> Void
  ) rethrows -> ServedTerms {
    var terms = sample(serve: serve, partition: partition, issuedAt: issuedAt)
    try change(&terms)
    return terms
  }
}

/// A value that is written well; where it is not, the tests are wrong.
package func known<Value>(_ value: Value?) -> Value {
  guard let value else { preconditionFailure("a sample value is malformed") }
  return value
}
