package import AdCore

/// What a batch of billing asks the tables before it is decided.
package struct BillingQuery: Hashable, Sendable {
  /// The campaigns that are asked for: what the catalogue says of them, and how often their ads are clicked.
  package var campaigns: Set<CampaignID>
  /// Where the partition's events wait for budget.
  package var isOfWaiting: Bool
  /// What came of apps' hours that are not remembered.
  package var appHours: Set<AppHour> = []

  package init(campaigns: Set<CampaignID> = [], isOfWaiting: Bool = false) {
    self.campaigns = campaigns
    self.isOfWaiting = isOfWaiting
  }

  package var isEmpty: Bool { campaigns.isEmpty && !isOfWaiting && appHours.isEmpty }
}

/// What the tables know of what a batch asked.
package struct BillingKnowledge: Sendable {
  package var campaigns: [CampaignID: CampaignTerms]
  package var clickCounts: [CampaignID: ClickCounts]
  package var waiting: Set<BudgetKey>
  /// Of an hour that is not there nothing has come.
  package var appHours: [AppHour: AppHourCount] = [:]

  package init(
    campaigns: [CampaignID: CampaignTerms] = [:], clickCounts: [CampaignID: ClickCounts] = [:],
    waiting: Set<BudgetKey> = []
  ) {
    self.campaigns = campaigns
    self.clickCounts = clickCounts
    self.waiting = waiting
  }
}
