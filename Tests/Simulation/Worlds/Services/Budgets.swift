import AdCore
import AdEvents
import BillingCore

/// Billing's budgets in memory: the twin of `billing.settle` and its tables, with the same constraints (I5).
struct Budgets: Equatable {
  /// A shared row.
  struct Level: Equatable {
    var requested: Int128
    var funded: Int128
    var allotted: Int128 = 0
    var charged: Int128 = 0
    /// The prices of what waits for it.
    var waiting: Int128 = 0

    init(requested: Int128) {
      self.requested = requested
      funded = requested
    }

    var free: Int128 { requested - charged - allotted }
    /// What is free and nobody waits for.
    var spare: Int128 { free - waiting }
    /// What would be free if every allotment returned everything.
    var left: Int128 { requested - charged }

    mutating func request(_ amount: Int128) {
      requested = amount
      funded = max(amount, charged + allotted)
    }
  }

  enum Key: Hashable {
    case account(AdvertiserID, Currency)
    case campaign(CampaignID)
    case day(CampaignID, Int32)
  }

  struct Allotment: Equatable {
    var partition: Int32
    var ordinal: Int64
    var budget: BudgetKey
    var granted: Int64
    var amount: Int64
    var charged: Int64 = 0
    var clickReserve: Int64 = 0
    var clicksCharged: Int64 = 0
    var used: Int64?
    var clickRates: ClickRateBounds
    var campaignFree: Int64
    var serveUntil: Timestamp
    /// 1 open, 2 closed, 3 ended.
    var state = 1
    var batch: Int64
    var grantedAt: Timestamp
  }

  /// A rule of the tables that a batch would break.
  struct Broken: Error {
    var detail: String
  }

  var levels: [Key: Level] = [:]
  var daily: [CampaignID: Int128] = [:]
  var allotments: [UInt64: Allotment] = [:]

  static func keys(_ budget: BudgetKey) -> [Key] {
    [
      .account(budget.advertiser, budget.currency), .campaign(budget.campaign), .day(budget.campaign, budget.day),
    ]
  }

  /// What may still be set aside or charged; nothing where a row is not there.
  func free(_ budget: BudgetKey) -> Int128 { least(of: \.free, budget) }

  /// The least that a budget's rows say; nothing where a row is not there.
  func least(of figure: (Level) -> Int128, _ budget: BudgetKey) -> Int128 {
    Self.keys(budget).map { key in levels[key].map(figure) ?? 0 }.min() ?? 0
  }

  mutating func openDay(_ budget: BudgetKey) {
    let key = Key.day(budget.campaign, budget.day)
    guard levels[key] == nil, let campaign = levels[.campaign(budget.campaign)] else { return }
    levels[key] = Level(requested: daily[budget.campaign] ?? campaign.requested)
  }

  mutating func move(_ budget: BudgetKey, allotted: Int128 = 0, charged: Int128 = 0, waiting: Int128 = 0) {
    for key in Self.keys(budget) {
      levels[key]?.waiting += waiting
      levels[key]?.allotted += allotted
      levels[key]?.charged += charged
    }
  }

  /// Lowers what is funded to what is asked for, as far as what is spent allows, and checks I5.
  mutating func check(_ budget: BudgetKey) throws(Broken) {
    for key in Self.keys(budget) {
      guard let level = levels[key] else { continue }
      let spent = level.allotted + level.charged
      levels[key]?.funded = min(level.funded, max(level.requested, spent))
      if spent > level.funded || level.allotted < 0 || level.charged < 0 || level.waiting < 0 {
        throw Broken(detail: "\(key) has \(level.charged) charged, \(level.allotted) allotted of \(level.funded)")
      }
    }
  }

  /// - Parameter firstDay: the budget day of a campaign's advertiser that goes on: days that are over stay as they are.
  mutating func fund(_ message: CatalogMessage, firstDay: Int32?) {
    switch message {
    case .record(.advertiser(let advertiser), _):
      let key = Key.account(advertiser.id, advertiser.currency)
      levels[key, default: Level(requested: 0)].request(advertiser.accountFunding)
    case .record(.campaign(let campaign), _) where campaign.kind != .house:
      levels[.campaign(campaign.id), default: Level(requested: 0)].request(campaign.totalBudget)
      daily[campaign.id] = campaign.dailyBudget
      guard let firstDay else { return }
      for case .day(campaign.id, let day) in levels.keys where day >= firstDay {
        levels[.day(campaign.id, day)]?.request(campaign.dailyBudget ?? campaign.totalBudget)
      }
    default: break
    }
  }
}
