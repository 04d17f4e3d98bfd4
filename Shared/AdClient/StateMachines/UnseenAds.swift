internal import AdBasics

/// What an object's ads come to that nobody saw, for the network's reports of each app (D3, D5): it follows what the object
/// tells of them.
struct UnseenAds {
  /// Ads that were on screen, and whose content is there: at most the one shown and the one to come.
  private var shown: Set<ServeID> = []

  /// What is to be told before this report; nil for nothing.
  mutating func before(_ report: AdReport) -> AdReport? {
    guard case .ad(let ad) = report.subject else { return nil }
    switch report.kind {
    case .rendered:
      shown.insert(ad.serveID)
      return nil
    case .unloaded:
      guard shown.remove(ad.serveID) == nil else { return nil }
      let isExpired = report.at.milliseconds(since: ad.answeredAt) >= ad.lifetimeMilliseconds
      return AdReport(isExpired ? .expiredUnseen : .neverShown, report.subject, at: report.at)
    case .viewed, .failed, .click, .blocked, .cancelled, .neverShown, .expiredUnseen, .shownBriefly: return nil
    }
  }
}
