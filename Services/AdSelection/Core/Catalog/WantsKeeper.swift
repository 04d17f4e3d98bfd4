internal import AdCore

/// Keeps account of the campaigns for which allotments should be at hand: paid, not paused, in flight, with an ad that
/// is not paused, of an advertiser whose time zone is known. A campaign is looked at when it changes, and when its flight
/// or its budget day begins or ends.
struct WantsKeeper: Sendable {
  private(set) var wants = AllotmentWants()
  private var touched: Set<CampaignID> = []
  private var deadlines = Deadlines()
  /// The deadline of each campaign that has one.
  private var planned: [CampaignID: Timestamp] = [:]
  /// By time zone, as of now.
  private var budgetDays: [String: BudgetDay] = [:]
  private var now = Timestamp(milliseconds: .max)

  /// To be told of campaigns that may have changed.
  mutating func note(_ campaigns: Set<CampaignID>) { touched.formUnion(campaigns) }

  /// Makes ``wants`` true at `now`.
  mutating func update(_ records: CatalogRecords, now: Timestamp) {
    // The first time, and where a clock was set back.
    if now < self.now { touched.formUnion(records.campaigns.keys) }
    self.now = now
    touched.formUnion(deadlines.takeDue(at: now))
    guard !touched.isEmpty else { return }
    budgetDays = budgetDays.filter { $0.value.contains(now) }
    var news: [CampaignID: AllotmentWant?] = [:]
    for id in touched { news[id] = want(of: id, records) }
    touched = []
    wants.take(news)
  }

  private mutating func want(of id: CampaignID, _ records: CatalogRecords) -> AllotmentWant? {
    guard let campaign = records.campaigns[id], campaign.kind != .house, !campaign.isPaused,
      let price = campaign.fullPrice, let advertiser = records.advertisers[campaign.advertiser],
      now < campaign.flightEnd, records.hasRunningAd(id)
    else {
      planned[id] = nil
      return nil
    }
    guard campaign.flightStart <= now else {
      plan(id, at: campaign.flightStart)
      return nil
    }
    guard let day = budgetDay(timeZone: advertiser.timeZone) else { return nil }
    plan(id, at: min(campaign.flightEnd, day.end))
    return AllotmentWant(
      campaign: id, advertiser: advertiser.id, currency: advertiser.currency, budgetDay: day.number,
      fullPrice: price, clickPrice: campaign.billedClickPrice)
  }

  private mutating func plan(_ campaign: CampaignID, at moment: Timestamp) {
    guard planned.updateValue(moment, forKey: campaign) != moment else { return }
    deadlines.add(campaign, at: moment)
  }

  private mutating func budgetDay(timeZone: String) -> BudgetDay? {
    if let day = budgetDays[timeZone] { return day }
    budgetDays[timeZone] = BudgetCalendar(timeZone: timeZone)?.day(of: now)
    return budgetDays[timeZone]
  }
}
