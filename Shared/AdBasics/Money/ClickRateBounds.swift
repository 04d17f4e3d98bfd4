/// What an allotment's ads set aside for their clicks: the upper bound of each ad's click rate, as billing knew it when
/// it granted the allotment. Ad selection reserves by it, and billing charges clicks from what was reserved by it, so
/// that clicks never use what is set aside for impressions (B4).
package struct ClickRateBounds: Hashable, Sendable {
  /// The most ads that have a bound of their own.
  package static let adsMaximum = 32

  /// The bound for ads without one of their own, in parts per million.
  package let others: Int64
  /// The bounds of single ads, in parts per million.
  package let ads: [AdID: Int64]

  /// Bounds are held within 0 and a million. Of more than ``adsMaximum`` ads the last by id are left out.
  package init(others: Int64, ads: [AdID: Int64] = [:]) {
    func held(_ bound: Int64) -> Int64 { min(max(bound, 0), ClickRateEstimate.whole) }
    self.others = held(others)
    let kept =
      ads.count <= Self.adsMaximum
      ? ads : ads.filter { Set(ads.keys.sorted().prefix(Self.adsMaximum)).contains($0.key) }
    self.ads = kept.mapValues(held)
  }

  /// What a sale of `ad` sets aside for its click, rounded up; never more than the click's price, and nothing for a
  /// price that is none.
  package func reserve(for ad: AdID, clickPrice: Nanos) -> Nanos {
    guard clickPrice.value > 0 else { return .zero }
    let whole = Int128(ClickRateEstimate.whole)
    // No more than the price, so it fits.
    return Nanos(Int64((Int128(clickPrice.value) * Int128(ads[ad] ?? others) + whole - 1) / whole))
  }
}

/// As the tables keep it: `43590,summer-1=120000`, the others' bound first, then the ads' by id.
extension ClickRateBounds {
  package var text: String {
    ([String(others)] + ads.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: ",")
  }

  /// Nil for any other text than a ``text``.
  package init?(text: String) {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    guard let first = parts.first, let others = Self.bound(first), parts.count <= Self.adsMaximum + 1 else {
      return nil
    }
    var ads: [AdID: Int64] = [:]
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard pair.count == 2, let ad = AdID(String(pair[0])), let bound = Self.bound(pair[1]) else { return nil }
      ads[ad] = bound
    }
    self.init(others: others, ads: ads)
  }

  private static func bound(_ text: Substring) -> Int64? {
    Int64(text).flatMap { (0...ClickRateEstimate.whole).contains($0) ? $0 : nil }
  }
}
