package import AdCore
package import AdEvents

/// Which budget is charged: a campaign's budget day, with the account that pays.
package struct BudgetKey: Hashable, Comparable, Sendable {
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

  /// The one that a served ad's terms name (I2).
  package init(_ terms: ServedTerms) {
    self.init(
      advertiser: terms.advertiser, currency: terms.currency, campaign: terms.campaign, day: terms.budgetDay)
  }

  /// The one that an allotment is asked for of.
  package init(_ ask: AllotmentAsk) {
    self.init(advertiser: ask.advertiser, currency: ask.currency, campaign: ask.campaign, day: ask.budgetDay)
  }

  /// Ascending (account, campaign, day).
  package static func < (left: BudgetKey, right: BudgetKey) -> Bool {
    if left.advertiser != right.advertiser { return left.advertiser < right.advertiser }
    if left.currency != right.currency { return left.currency < right.currency }
    return left.campaign != right.campaign ? left.campaign < right.campaign : left.day < right.day
  }
}

/// The budgets of a batch as the database locks them: each account, campaign and day once, ascending, each naming what
/// it belongs to by its index from 1.
package struct BudgetLevels: Hashable, Sendable {
  package private(set) var advertisers: [AdvertiserID] = []
  package private(set) var currencies: [Currency] = []
  package private(set) var campaigns: [CampaignID] = []
  package private(set) var campaignAccounts: [Int32] = []
  package private(set) var days: [Int32] = []
  package private(set) var dayCampaigns: [Int32] = []
  private var indices: [BudgetKey: Int32] = [:]

  package init(_ budgets: Set<BudgetKey>) {
    var last: BudgetKey?
    for budget in budgets.sorted() {
      let isNewAccount = last?.advertiser != budget.advertiser || last?.currency != budget.currency
      if isNewAccount {
        advertisers.append(budget.advertiser)
        currencies.append(budget.currency)
      }
      if isNewAccount || last?.campaign != budget.campaign {
        campaigns.append(budget.campaign)
        campaignAccounts.append(Int32(advertisers.count))
      }
      days.append(budget.day)
      dayCampaigns.append(Int32(campaigns.count))
      indices[budget] = Int32(days.count)
      last = budget
    }
  }

  /// The index of a budget's day, from 1; 0 for a budget that is not among them.
  package func index(of budget: BudgetKey) -> Int32 { indices[budget] ?? 0 }
}
