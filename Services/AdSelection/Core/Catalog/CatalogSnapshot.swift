package import AdCore

/// The catalogue as ad selection looks at it: immutable, with its ads in the order of their expected value and a bit for
/// each ad and rule (``EligibilityIndex``). Made again when the catalogue, the click rates or the flights have changed.
package struct CatalogSnapshot: Sendable {
  /// The most ads that compete; further ones (the last by id) are left out.
  package static let candidatesMaximum = 200_000

  package let advertisers: [AdvertiserID: Advertiser]
  package let campaigns: [CampaignID: Campaign]
  package let ads: [AdID: Ad]
  package let apps: [AppID: App]
  /// Nil while the catalogue has no settings: then the network operates nowhere (A5).
  package let settings: NetworkSettings?
  /// Paid ads by falling expected value, then house ads; equals by id.
  package let candidates: [Candidate]
  let index: EligibilityIndex
  private let keys: [[UInt8]: AppKey]

  /// Builds the view of `catalog` with the expected values of `clickRates`, for decisions from `now` on (later ones are
  /// right as well, but slower once a flight has begun or ended).
  package init(catalog: CatalogState, clickRates: ClickRates, now: Timestamp) {
    var parts = Parts()
    for entry in catalog.entries.values {
      if let record = entry.record { parts.add(record) }
    }
    (advertisers, campaigns, ads, apps) = (parts.advertisers, parts.campaigns, parts.ads, parts.apps)
    (settings, keys) = (parts.settings, parts.keys)
    candidates = parts.candidates(clickRates: clickRates)
    index = EligibilityIndex(candidates: candidates, apps: parts.apps, now: now)
  }

  /// The app key with this SHA-256, revoked or not; nil for an unknown one (A1).
  package func appKey(hash: [UInt8]) -> AppKey? { keys[hash] }

  /// The live campaigns for which allotments should be at hand at `now`: paid, not paused, in flight, with an ad that can
  /// be served. `budgetDay` says which day it is for an advertiser. In the order of their ids.
  package func allotmentWants(now: Timestamp, budgetDay: (Advertiser) -> Int32?) -> [AllotmentWant] {
    let wanted = candidates.filter { $0.kind != .house && !$0.isPaused && $0.isInFlight(at: now) }
    return Set(wanted.map(\.campaign)).sorted().compactMap { id in
      guard let campaign = campaigns[id], let advertiser = advertisers[campaign.advertiser],
        let day = budgetDay(advertiser), let price = campaign.fullPrice
      else { return nil }
      return AllotmentWant(
        campaign: id, advertiser: advertiser.id, currency: advertiser.currency, budgetDay: day, fullPrice: price,
        clickPrice: campaign.billedClickPrice)
    }
  }

  /// The records by kind, while a snapshot is being built.
  private struct Parts {
    var advertisers: [AdvertiserID: Advertiser] = [:]
    var campaigns: [CampaignID: Campaign] = [:]
    var ads: [AdID: Ad] = [:]
    var apps: [AppID: App] = [:]
    var keys: [[UInt8]: AppKey] = [:]
    var settings: NetworkSettings?

    mutating func add(_ record: CatalogRecord) {
      switch record {
      case .advertiser(let advertiser): advertisers[advertiser.id] = advertiser
      case .campaign(let campaign): campaigns[campaign.id] = campaign
      case .ad(let ad): ads[ad.id] = ad
      case .developer: break
      case .app(let app): apps[app.id] = app
      case .appKey(let key):
        // Should two records hold one key, the order in which they came must not decide; a revoked one prevails.
        let isWorse = keys[key.keyHash].map { ($0.isRevoked ? 0 : 1, $0.app) <= (key.isRevoked ? 0 : 1, key.app) }
        if isWorse != true { keys[key.keyHash] = key }
      case .settings(let settings): self.settings = settings
      }
    }

    /// An ad whose campaign or advertiser is not there, or whose price is no price, is no candidate.
    func candidates(clickRates: ClickRates) -> [Candidate] {
      ads.values.sorted { $0.id < $1.id }.prefix(CatalogSnapshot.candidatesMaximum).compactMap { ad in
        guard let campaign = campaigns[ad.campaign], let advertiser = advertisers[campaign.advertiser],
          campaign.fullPrice != nil
        else { return nil }
        return Candidate(ad: ad, campaign: campaign, advertiser: advertiser, clickRate: clickRates[ad.id])
      }.sorted()
    }
  }
}

extension Campaign {
  /// What one ad costs at most: an impression and a click (B1); nil if a price is negative or the sum is no amount.
  package var fullPrice: Nanos? {
    guard impressionPrice.value >= 0, clickPrice.value >= 0 else { return nil }
    let (sum, overflow) = billedImpressionPrice.value.addingReportingOverflow(clickPrice.value)
    return overflow ? nil : Nanos(sum)
  }

  /// A developer campaign pays for clicks only, whatever its record says (B1).
  package var billedImpressionPrice: Nanos { kind == .brand ? impressionPrice : .zero }

  /// House campaigns pay nothing.
  package var billedClickPrice: Nanos { kind == .house ? .zero : clickPrice }
}
