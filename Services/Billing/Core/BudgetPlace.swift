package import AdCore

/// Where money is charged: a campaign's budget day, with the account that pays.
package struct BudgetPlace: Hashable, Comparable, Sendable {
  package var advertiser: AdvertiserID
  package var currency: Currency
  package var campaign: CampaignID
  /// Days since 1970-01-01 in the advertiser's time zone.
  package var day: Int32

  package init(advertiser: AdvertiserID, currency: Currency, campaign: CampaignID, day: Int32) {
    self.advertiser = advertiser
    self.currency = currency
    self.campaign = campaign
    self.day = day
  }

  /// The place that a served ad's terms name (I2).
  package init(_ terms: ServedTerms) {
    self.init(
      advertiser: terms.advertiser, currency: terms.currency, campaign: terms.campaign, day: terms.budgetDay)
  }

  /// Ascending (account, campaign, day).
  package static func < (left: BudgetPlace, right: BudgetPlace) -> Bool {
    if left.advertiser != right.advertiser { return left.advertiser < right.advertiser }
    if left.currency != right.currency { return left.currency < right.currency }
    return left.campaign != right.campaign ? left.campaign < right.campaign : left.day < right.day
  }
}

/// The places of a batch as the database locks them: each account, campaign and day once, ascending, each naming what
/// it belongs to by its index from 1.
package struct BudgetLevels: Hashable, Sendable {
  package private(set) var advertisers: [AdvertiserID] = []
  package private(set) var currencies: [Currency] = []
  package private(set) var campaigns: [CampaignID] = []
  package private(set) var campaignAccounts: [Int32] = []
  package private(set) var days: [Int32] = []
  package private(set) var dayCampaigns: [Int32] = []
  private var indices: [BudgetPlace: Int32] = [:]

  package init(_ places: Set<BudgetPlace>) {
    var last: BudgetPlace?
    for place in places.sorted() {
      let isNewAccount = last?.advertiser != place.advertiser || last?.currency != place.currency
      if isNewAccount {
        advertisers.append(place.advertiser)
        currencies.append(place.currency)
      }
      if isNewAccount || last?.campaign != place.campaign {
        campaigns.append(place.campaign)
        campaignAccounts.append(Int32(advertisers.count))
      }
      days.append(place.day)
      dayCampaigns.append(Int32(campaigns.count))
      indices[place] = Int32(days.count)
      last = place
    }
  }

  /// The index of a place's day, from 1; 0 for a place that is not among them.
  package func index(of place: BudgetPlace) -> Int32 { indices[place] ?? 0 }
}
