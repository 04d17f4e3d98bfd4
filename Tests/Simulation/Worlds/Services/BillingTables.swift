import AdCore
import AdEvents
import BillingCore
import Pipeline

/// Billing's tables in memory.
struct BillingTables: SimulatedTables {
  typealias Service = BillingService

  /// An event with its fate.
  struct ChargeRow: Equatable {
    var partition: Int32
    var batch: Int64
    var event: AcceptedEvent
    var fate: ChargeFate
    var developer: Int64
    var network: Int64
  }

  /// An event that waits for budget.
  struct Waiter: Equatable {
    var charge: BillingEffects.Charge
    var draw: BillingEffects.Draw
    var price: Int128 { Int128(charge.event.price.value) }
  }

  struct EventKey: Hashable {
    var serveID: ServeID
    var kind: ChargeKind
    var idHash: UInt64
  }

  /// An event that a person is to look at.
  struct HeldRow: Equatable {
    var batch: Int64
    var held: BillingEffects.Held
  }

  /// What the network bears at most is of an app's day, in a partition.
  struct AppDay: Hashable {
    var partition: Int32
    var app: AppID
    var day: Int64
    var currency: Currency
  }

  struct Posting: Hashable {
    var partition: Int32
    var batch: Int64
    var account: String
    var currency: Currency
    var debit: Int128
    var credit: Int128
  }

  /// What changed budgets, in the order of their locks: what a rebuild follows.
  enum Step {
    case batch(partition: Int32, number: Int64)
    case funded(CatalogMessage, Timestamp)
  }

  let settings: BillingSettings
  let sabotage: Sabotage?
  /// Counts of apps' hours that a partition remembers.
  let appHoursMaximum: Int
  var counts = SimulatedCounts<RevenueMinute, RevenueSums> {
    $0.events += $1.events
    $0.gross += $1.gross
    $0.developer += $1.developer
    $0.network += $1.network
  }
  private(set) var budgets = Budgets()
  private(set) var charges: [EventKey: ChargeRow] = [:]
  /// By partition, in the order in which they began to wait.
  private(set) var waiting: [Int32: [Waiter]] = [:]
  /// By partition, in the order in which they were held.
  private(set) var held: [Int32: [HeldRow]] = [:]
  /// What the network has borne.
  private(set) var borne: [AppDay: Int128] = [:]
  private var appHours: [Int32: [AppHour: AppHourCount]] = [:]
  private var clickCounts: [Int32: SimulatedClickCounts] = [:]
  private(set) var suspended: [Int32: [BillingEffects.Suspended]] = [:]
  private(set) var postings: [Posting] = []
  private(set) var steps: [Step] = []
  private var campaigns: [CampaignID: Campaign] = [:]
  private var advertisers: [AdvertiserID: Advertiser] = [:]

  init(caps: TrafficCaps, appHoursMaximum: Int = BillingMemory.appHoursMaximum, sabotage: Sabotage?) {
    self.appHoursMaximum = appHoursMaximum
    var settings = BillingSettings()
    settings.caps = caps
    self.settings = settings
    self.sabotage = sabotage
  }

  /// The catalogue says what may be spent.
  mutating func fund(_ message: CatalogMessage, now: Timestamp) {
    var firstDay: Int32?
    switch message {
    case .record(.advertiser(let advertiser), _): advertisers[advertiser.id] = advertiser
    case .record(.campaign(let campaign), _) where campaign.kind != .house:
      campaigns[campaign.id] = campaign
      firstDay = calendar(of: campaign.advertiser)?.day(of: now).number
    default: return
    }
    budgets.fund(message, firstDay: firstDay)
    steps.append(.funded(message, now))
  }

  func load(_ partition: Int32, now: Timestamp, for context: InstanceContext) -> BillingDecider {
    let open = budgets.allotments.filter { $0.value.partition == partition && $0.value.state < 3 }
    return BillingDecider(
      settings: settings,
      open: open.map { id, row in
        OpenAllotment(
          id: id, budget: row.budget, amount: row.amount, charged: row.charged, clickReserve: row.clickReserve,
          clicksCharged: row.clicksCharged, clickRates: row.clickRates, serveUntil: row.serveUntil,
          isClosed: row.state == 2)
      }, waiting: waitingBudgets(in: partition), hours: latestHours(of: partition, now: now),
      lostServes: sabotage == .chargeLost ? [] : context.timelines.lostServes(partition).map(\.ids),
      lostGrants: context.timelines.lost[LogID(topic: Topic.budgets.name, partition: partition)] ?? [],
      memory: BillingMemory(appHoursMaximum: appHoursMaximum))
  }

  private func latestHours(of partition: Int32, now: Timestamp) -> StoredAppHours {
    let rows = (appHours[partition] ?? [:]).filter { $0.key.hour >= StoredAppHours.firstHour(now: now) }
    return StoredAppHours(
      rows.sorted { $0.key.hour > $1.key.hour }.prefix(StoredAppHours.readMaximum + 1).map { ($0.key, $0.value) },
      now: now)
  }

  private func waitingBudgets(in partition: Int32) -> Set<BudgetKey> {
    Set((waiting[partition] ?? []).map(\.draw.budget))
  }

  func lookUp(_ query: BillingQuery, partition: Int32) -> BillingKnowledge {
    let clicks = clickCounts[partition] ?? SimulatedClickCounts()
    var knowledge = BillingKnowledge(
      campaigns: terms(of: query.campaigns), clickCounts: clicks.counts(of: query.campaigns),
      waiting: query.isOfWaiting ? waitingBudgets(in: partition) : [])
    knowledge.appHours = (appHours[partition] ?? [:]).filter { query.appHours.contains($0.key) }
    return knowledge
  }

  private func calendar(of advertiser: AdvertiserID) -> BudgetCalendar? {
    advertisers[advertiser].flatMap { BudgetCalendar(timeZone: $0.timeZone) }
  }

  private func terms(of query: Set<CampaignID>) -> [CampaignID: CampaignTerms] {
    var terms: [CampaignID: CampaignTerms] = [:]
    for id in query {
      guard let campaign = campaigns[id], let advertiser = advertisers[campaign.advertiser],
        let calendar = calendar(of: campaign.advertiser)
      else { continue }
      terms[id] = CampaignTerms(
        advertiser: advertiser.id, currency: advertiser.currency, calendar: calendar,
        flightStart: campaign.flightStart, flightEnd: campaign.flightEnd, isPaused: campaign.isPaused)
    }
    return terms
  }

  func violation(of batch: CommitBatch<BillingService>) throws(PipelineError) -> RowRefusal? {
    let effects = batch.effects
    if effects.charges.contains(where: { $0.event.terms.ad == Samples.cursedAd }) {
      return .refused("the row of a charge is refused")
    }
    var keys = Set<EventKey>()
    let isHeld = Set((held[batch.partition] ?? []).map { EventKey($0.held.event) })
    for event in effects.charges.map(\.event) + effects.held.map(\.event) {
      let key = EventKey(event)
      if charges[key] != nil || isHeld.contains(key) || !keys.insert(key).inserted { return .duplicate }
    }
    do throws(Budgets.Broken) {
      _ = try settled(batch)
      return nil
    } catch {
      throw .invariantBroken(error.detail)
    }
  }

  mutating func apply(_ batch: CommitBatch<BillingService>, for context: InstanceContext) -> CommitResult {
    guard let settlement = try? settled(batch) else { return CommitResult() }
    keep(settlement, of: batch)
    for budget in settlement.exhausted where batch.effects.asks.contains(where: { $0.budget == budget }) {
      context.world.coverage.note(.budgetExhausted)
    }
    return CommitResult(messages: settlement.grants)
  }

  mutating func keep(_ settlement: Settlement, of batch: CommitBatch<BillingService>) {
    budgets = settlement.budgets
    for row in settlement.rows { charges[EventKey(row.event)] = row }
    suspended[batch.partition, default: []] += batch.effects.suspended
    waiting[batch.partition] = settlement.waiting
    for held in batch.effects.held {
      self.held[batch.partition, default: []].append(HeldRow(batch: batch.number, held: held))
    }
    borne = settlement.borne
    for (key, count) in batch.effects.appHours {
      appHours[batch.partition, default: [:]][key, default: AppHourCount()].impressions += count.impressions
      appHours[batch.partition, default: [:]][key, default: AppHourCount()].clicks += count.clicks
    }
    clickCounts[batch.partition, default: SimulatedClickCounts()].add(batch.effects.clickCounts)
    post(settlement.drawn, of: batch)
    count(settlement, of: batch)
    steps.append(.batch(partition: batch.partition, number: batch.number))
  }

  /// Draws have their fates from the database, and are counted with them; the process counts the others.
  private mutating func count(_ settlement: Settlement, of batch: CommitBatch<BillingService>) {
    let drawn = Set(settlement.drawn.map { EventKey($0.event) })
    counts.commit(
      settlement.rows.filter { !drawn.contains(EventKey($0.event)) }.map(\.revenue),
      appended: settlement.drawn.map(\.revenue), partition: batch.partition, batch: batch.number)
  }

  /// One journal for each batch (I6).
  private mutating func post(_ drawn: [ChargeRow], of batch: CommitBatch<BillingService>) {
    func post(_ account: LedgerAccount, _ currency: Currency, debit: Int128 = 0, credit: Int128 = 0) {
      guard debit != 0 || credit != 0 else { return }
      postings.append(
        Posting(
          partition: batch.partition, batch: batch.number, account: account.text, currency: currency, debit: debit,
          credit: credit))
    }
    for (key, sums) in batch.effects.journal.entries {
      post(key.account, key.currency, debit: sums.debit, credit: sums.credit)
    }
    for row in drawn {
      let terms = row.event.terms
      post(.advertiser(terms.advertiser), terms.currency, debit: Int128(row.developer + row.network))
      post(.developer(terms.developer), terms.currency, credit: Int128(row.developer))
      post(.networkRevenue, terms.currency, credit: Int128(max(row.network, 0)))
      post(.networkUnfunded, terms.currency, debit: Int128(max(-row.network, 0)))
    }
  }

  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage] {
    budgets.allotments.filter {
      $0.value.partition == partition && AllotmentID.sequence(of: $0.key) >= sequence
    }.sorted { $0.key < $1.key }.prefix(limit).map { Self.message($0.key, $0.value) }
  }

  static func message(_ id: UInt64, _ row: Budgets.Allotment) -> NumberedMessage {
    BillingService.message(
      AllotmentGrant(
        allotment: id, ordinal: row.ordinal, campaign: row.budget.campaign, budgetDay: row.budget.day,
        amount: Nanos(row.granted), serveUntil: row.serveUntil, clickRates: row.clickRates),
      partition: row.partition, grantedAt: row.grantedAt)
  }

  func messages(of batch: CommitBatch<BillingService>) -> [NumberedMessage] { (try? settled(batch))?.grants ?? [] }
}

extension BillingTables.ChargeRow {
  fileprivate var revenue: (key: RevenueMinute, sums: RevenueSums) {
    var sums = RevenueSums()
    sums.events = 1
    sums.gross = Int128(developer) + Int128(network)
    sums.developer = Int128(developer)
    sums.network = Int128(network)
    return (RevenueMinute(event, fate: fate), sums)
  }
}

extension BillingTables.EventKey {
  init(_ event: AcceptedEvent) {
    self.init(serveID: event.terms.serveID, kind: event.kind, idHash: event.idHash)
  }
}
