import AdCore
import AdEvents
import AdSelectionCore
import Pipeline

/// Nothing better could be sold: each live auction is asked again ad by ad, with the catalogue that it says it was held
/// with and the budgets that the rows before it left, by the rules alone and without an index.
struct AuctionAudit {
  let world: World

  /// The catalogue after a number of messages.
  private struct Catalog {
    var campaigns: [CampaignID: Campaign] = [:]
    var ads: [Ad] = []
    var apps: [AppID: App] = [:]
    var standings: [AppID: AppStanding] = [:]
  }

  /// An ad against which no rule of the catalogue or the request speaks.
  private struct Offer {
    let ad: AdID
    let campaign: CampaignID
    let isHouse: Bool
    let worth: Int128
    let canSell: Bool
  }

  func audit() {
    var catalogs: [Int64: Catalog] = [:]
    for partition in 0..<world.partitionCount {
      let rows = (world.selection.tables.decisions[partition] ?? []).sorted {
        ($0.batch, $0.decided.index) < ($1.batch, $1.decided.index)
      }
      let allotments = world.selection.tables.allotments.values.filter { $0.partition == partition }
      var used: [UInt64: Int128] = [:]
      for row in rows {
        if let inputs = row.decided.decision.inputs, let change = inputs.catalogChange {
          let catalog = catalogs[change] ?? self.catalog(after: change)
          catalogs[change] = catalog
          let offers = offers(to: row, inputs, in: catalog, allotments, used)
          if let complaint = offer(to: row.decided, inputs, in: catalog) ?? check(row.decided, inputs, offers) {
            world.fail("requests/\(partition): batch \(row.batch), index \(row.decided.index): \(complaint)")
          }
        }
        if let reservation = row.decided.serve?.reservation {
          used[reservation.allotment, default: 0] += Int128(reservation.amount.value)
        }
      }
    }
  }

  private func catalog(after change: Int64) -> Catalog {
    var catalog = Catalog()
    var ads: [AdID: Ad] = [:]
    for case .record(let record, _) in world.catalog.published.prefix(Int(change)) {
      switch record {
      case .campaign(let campaign): catalog.campaigns[campaign.id] = campaign
      case .ad(let ad): ads[ad.id] = ad
      case .app(let app): catalog.apps[app.id] = app
      case .standing(let standing): catalog.standings[standing.app] = standing
      default: break
      }
    }
    catalog.ads = Array(ads.values)
    return catalog
  }

  private func offers(
    to row: SelectionTables.Row, _ inputs: AuctionInputs, in catalog: Catalog,
    _ allotments: [SelectionTables.Allotment], _ used: [UInt64: Int128]
  ) -> [Offer] {
    let asked = row.decided.asked
    let now = row.decided.id.timestamp
    guard let app = catalog.apps[asked.app], let country = asked.country, let device = asked.device else { return [] }
    let rules = AdRules(
      app: app, country: country, device: device, requiredSizes: inputs.requiredSizes, segments: inputs.segments,
      now: now)
    return catalog.ads.compactMap { ad in
      guard let campaign = catalog.campaigns[ad.campaign], inputs.paidAds == .served || campaign.kind == .house else {
        return nil
      }
      let objections = rules.objections(to: ad, of: campaign)
      guard objections.isEmpty else {
        if objections.contains(.target) { world.coverage.note(.targetMissed) }
        if objections.contains(.exclusion) { world.coverage.note(.adExcluded) }
        return nil
      }
      let isHouse = campaign.kind == .house
      let impression = campaign.kind == .brand ? Int128(campaign.impressionPrice.value) : 0
      let click = Int128(campaign.clickPrice.value)
      let canSell = allotments.contains { allotment in
        guard allotment.row.campaign == campaign.id, allotment.granted < index(of: row), now < allotment.row.serveUntil,
          allotment.closedBatch.map({ $0 > row.batch }) ?? true
        else { return false }
        let rate = Int128(allotment.row.clickRates.ads[ad.id] ?? allotment.row.clickRates.others)
        let price = impression + (click * rate + 999_999) / 1_000_000
        return Int128(allotment.row.amount.value) - used[allotment.row.allotment, default: 0] >= price
      }
      // 2 clicks of 200 impressions are what every ad is taken to have had.
      let worth = isHouse ? 0 : impression * 1_000_000 + click * 10_000
      return Offer(ad: ad.id, campaign: campaign.id, isHouse: isHouse, worth: worth, canSell: isHouse || canSell)
    }
  }

  /// A7: what is wrong with what the app is offered; nil for nothing. What stops paid ads for everybody prevails.
  private func offer(to decided: DecidedRequest, _ inputs: AuctionInputs, in catalog: Catalog) -> String? {
    let isWithheld =
      catalog.standings[decided.asked.app].map {
        AdRules.isWithheld(
          decided.asked.requestID, offer: $0.offerPartsPerMillion, seed: SelectionSettings().seed)
      } ?? false
    switch inputs.paidAds {
    case .suspended, .stopped: return nil
    case .served: return isWithheld ? "paid ads were offered, and the app's standing withholds them" : nil
    case .withheld:
      world.coverage.note(.paidAdsWithheld)
      return isWithheld ? nil : "paid ads were withheld, and the app's standing offers them"
    }
  }

  private func index(of row: SelectionTables.Row) -> BatchIndex {
    BatchIndex(batch: row.batch, index: row.decided.index)
  }

  /// What is wrong; nil for nothing.
  private func check(_ decided: DecidedRequest, _ inputs: AuctionInputs, _ offers: [Offer]) -> String? {
    let sellable = offers.filter(\.canSell)
    let best = sellable.max { ($0.isHouse ? 0 : 1, $0.worth) < ($1.isHouse ? 0 : 1, $1.worth) }
    if let most = offers.map(\.worth).max(), let best, most > best.worth { world.coverage.note(.bestWithoutBudget) }
    guard let serve = decided.serve else {
      return best.map { "\(decided.decision.reason), and \($0.ad) could be sold" }
    }
    guard let winner = sellable.first(where: { $0.ad == serve.terms.ad }), let best else {
      return "\(serve.terms.ad) was sold, and could not be"
    }
    return (winner.isHouse, winner.worth) == (best.isHouse, best.worth)
      ? nil : "\(winner.ad) was sold, and \(best.ad) is worth more"
  }
}
