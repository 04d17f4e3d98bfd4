internal import AdCore
internal import AdEvents

/// What a partition saw and what was clicked, since that was stored last. A click rate is an estimate, with old counts halved
/// now and then, so it may be late: a row for each ad of each batch took twice the write-ahead log of the batch's charges.
/// Whoever loses the partition, or has to read it again, loses the last ones.
struct UnstoredClickCounts {
  static let intervalMilliseconds: Int64 = 10_000
  /// With so many ads they are stored at once.
  static let adsMaximum = 1_000

  private var counts: [BillingEffects.CountedAd: ClickCount] = [:]
  private var storedAt: Timestamp?

  /// Counts an event that costs its campaign something if its ad is clicked.
  mutating func count(_ event: AcceptedEvent) {
    guard event.terms.clickPrice.value > 0 else { return }
    let ad = BillingEffects.CountedAd(campaign: event.terms.campaign, ad: event.terms.ad)
    switch event.kind {
    case .impression: counts[ad, default: ClickCount()].impressions += 1
    case .click: counts[ad, default: ClickCount()].clicks += 1
    }
  }

  /// Whether there is something to store, and it was long ago that something was. A clock that was set back does not stop it.
  func isDue(_ now: Timestamp) -> Bool {
    guard !counts.isEmpty else { return false }
    guard let storedAt, now >= storedAt, counts.count < Self.adsMaximum else { return true }
    return now >= storedAt.advanced(byMilliseconds: Self.intervalMilliseconds)
  }

  /// What is to be stored now: nothing while it is not due.
  mutating func take(_ now: Timestamp) -> [BillingEffects.CountedAd: ClickCount] {
    guard isDue(now) else { return [:] }
    defer { counts.removeAll(keepingCapacity: true) }
    storedAt = now
    return counts
  }
}
