package import AdCore

/// A live campaign for which an allotment should be at hand, as of now.
package struct AllotmentWant: Hashable, Sendable {
  /// What a partition must have at hand.
  struct Need: Hashable, Sendable {
    var budgetDay: Int32
    var fullPrice: Nanos
  }

  package var campaign: CampaignID
  package var advertiser: AdvertiserID
  package var currency: Currency
  /// Today in the advertiser's time zone: days since 1970-01-01.
  package var budgetDay: Int32
  /// One ad's full price: impression and click.
  package var fullPrice: Nanos
  /// The click's part of it.
  package var clickPrice: Nanos

  package init(
    campaign: CampaignID, advertiser: AdvertiserID, currency: Currency, budgetDay: Int32, fullPrice: Nanos,
    clickPrice: Nanos
  ) {
    self.campaign = campaign
    self.advertiser = advertiser
    self.currency = currency
    self.budgetDay = budgetDay
    self.fullPrice = fullPrice
    self.clickPrice = clickPrice
  }
}

extension AllotmentWant {
  var need: Need { Need(budgetDay: budgetDay, fullPrice: fullPrice) }
}

/// The campaigns for which allotments should be at hand, at one version. What has changed since an earlier one is known
/// for a while, so that a partition need not look at all of them.
package struct AllotmentWants: Sendable {
  private struct Change: Sendable {
    let version: Int
    let campaigns: [CampaignID]
  }

  /// So many of the last changes are known.
  private static let changesMaximum = 64

  package private(set) var version: Int
  private var byCampaign: [CampaignID: AllotmentWant]
  private var changes: [Change] = []

  /// - Parameter version: another one wherever `wants` are others.
  package init(_ wants: [AllotmentWant] = [], version: Int = 1) {
    byCampaign = Dictionary(wants.map { ($0.campaign, $0) }) { _, last in last }
    self.version = wants.isEmpty ? 0 : version
  }

  package subscript(campaign: CampaignID) -> AllotmentWant? { byCampaign[campaign] }

  /// Takes what has become of some campaigns; nil for one that is not wanted any more.
  mutating func take(_ news: [CampaignID: AllotmentWant?]) {
    let changed = news.filter { byCampaign[$0.key] != $0.value }
    guard !changed.isEmpty else { return }
    for (campaign, want) in changed { byCampaign[campaign] = want }
    version += 1
    if changes.count == AllotmentWants.changesMaximum { changes.removeFirst() }
    changes.append(Change(version: version, campaigns: Array(changed.keys)))
  }

  /// The campaigns that have changed since `version`; nil where that is not known any more: then all may have.
  func changes(since version: Int) -> [CampaignID]? {
    if version == self.version { return [] }
    guard let first = changes.first, first.version <= version + 1, version < self.version else { return nil }
    return changes.filter { $0.version > version }.flatMap(\.campaigns)
  }

  /// All campaigns that are wanted.
  var campaigns: some Collection<CampaignID> { byCampaign.keys }
}
