import AdCore
import AdEvents
import AdSelectionCore
import BillingCore
import ClickTrackingCore
import ImpressionTrackingCore
import Pipeline

/// Where every nano must be: worked out event by event from what the trackers accepted, and from the order of batches.
struct MoneyAudit {
  let world: World

  /// The audit's own books.
  struct Account {
    var requested: Int128 = 0
    var limit: Int128 = 0
    var allotted: Int128 = 0
    var charged: Int128 = 0
    /// The prices of what waits for it.
    var waiting: Int128 = 0
    /// The least that was ever asked for, and all that was delivered in time.
    var leastRequested: Int128?
    var delivered: Int128 = 0
    var free: Int128 { requested - allotted - charged }
  }

  struct Piece {
    var partition: Int32
    var campaign: CampaignID
    var day: Int32
    var amount: Int128
    var charged: Int128 = 0
    /// Set aside for clicks as far as is known, and charged for them.
    var clickReserve: Int128 = 0
    var clicks: Int128 = 0
    var clickRates: ClickRateBounds
    var isClosed = false
    var isEnded = false
    var serveUntil: Int64
    var clickRoom: Int128 { isEnded ? 0 : min(clickReserve - clicks, amount - charged) }
  }

  struct State {
    var funding: [AdvertiserID: Account] = [:]
    var campaigns: [CampaignID: Account] = [:]
    var days: [String: Account] = [:]
    var daily: [CampaignID: Int128] = [:]
    var flightEnds: [CampaignID: Int64] = [:]
    var pieces: [UInt64: Piece] = [:]
    var ordinals: Set<String> = []
    var taken: [Int32: [Int]] = [:]
    var ledger: [Entry: Int128] = [:]
    var rowCount = 0
    var suspended: [Int32: Int] = [:]
    /// By partition, in the order in which they began to wait.
    var waiting: [Int32: [Event]] = [:]
    /// Those that no budget paid.
    var unfunded: [Event] = []
    /// As the batch that is looked at knew them: how many partitions there were, and up to when impressions had come, in ms.
    var partitionCount: Int128 = 1
    var impressionsUpTo: Int64 = 0
    /// How many impressions and clicks came, by partition, hour of the serve and, of clicks, ad.
    var hours: [String: Int128] = [:]
    /// What was held, with the number of its reason; by partition, in order.
    var held: [Int32: [Held]] = [:]
    /// What the network has paid of what no budget did, by partition and day of the serve.
    var borne: [String: Int128] = [:]
  }

  /// An event that no piece of budget could pay.
  struct Draw {
    var event: Event
    var isLate: Bool
  }

  struct Event {
    var kind: ChargeKind
    var sequence: Int64
    var terms: ServedTerms
    var idHash: UInt64
    var verdict: UInt8
    /// In ms.
    var arrival: Int64
    var price: Int128 { Int128(kind == .impression ? terms.impressionPrice.value : terms.clickPrice.value) }
    var key: BillingTables.EventKey { .init(serveID: terms.serveID, kind: kind, idHash: idHash) }
  }

  func audit() {
    var state = State()
    for step in world.billing.tables.steps {
      switch step {
      case .funded(let message, let now): fund(message, now.milliseconds, &state)
      case .batch(let partition, let number): audit(partition, number, &state)
      }
      checkLimits(&state)
      if world.failures.count > 5 { return }
    }
    compare(state)
  }

  private func fund(_ message: CatalogMessage, _ now: Int64, _ state: inout State) {
    func request(_ amount: Int128, _ account: inout Account) {
      account.requested = amount
      account.leastRequested = min(account.leastRequested ?? amount, amount)
      account.limit = max(amount, account.allotted + account.charged)
    }
    guard case .record(let record, _) = message else { return }
    if case .advertiser(let advertiser) = record {
      request(advertiser.accountFunding, &state.funding[advertiser.id, default: Account()])
    }
    guard case .campaign(let campaign) = record, campaign.kind != .house else { return }
    request(campaign.totalBudget, &state.campaigns[campaign.id, default: Account()])
    state.daily[campaign.id] = campaign.dailyBudget
    state.flightEnds[campaign.id] = campaign.flightEnd.milliseconds
    // The worlds' advertisers live by UTC: the day that goes on, and those that may be sold from already.
    for day in Int32(now / 86_400_000)...Int32(now / 86_400_000) + 3 {
      let key = "\(campaign.id)/\(day)"
      guard var account = state.days[key] else { continue }
      request(campaign.dailyBudget ?? campaign.totalBudget, &account)
      state.days[key] = account
    }
  }

  // MARK: One batch

  private func audit(_ partition: Int32, _ number: Int64, _ state: inout State) {
    let batch = world.billing.row(partition).batches[Int(number) - 1]
    state.partitionCount = Int128(max(1, batch.partitionCount))
    state.impressionsUpTo = batch.inputs[0].position.consumedWatermark.milliseconds
    let before = state.taken[partition] ?? [0, 0, 0]
    let after = batch.inputs.map { Int($0.position.consumedSequence) }
    state.taken[partition] = after
    var draws: [Draw] = []
    for event in events(partition, from: before, to: after) {
      if let draw = pay(event, partition, number, &state) { draws.append(draw) }
    }
    let reports = world.selection.tables.reports(partition)
    for report in taken(reports, of: .usage, partition, before[2], after[2], sequence: { $0.reportSequence ?? 0 }) {
      close(report.row, &state)
    }
    if batch.isOfTimer { end(partition, batch, &state) }
    settleWaiting(partition, batch, number, &state)
    for draw in draws { settle(draw, partition, number, &state) }
    let granted = world.billing.tables.budgets.allotments.filter {
      $0.value.partition == partition && $0.value.batch == number
    }
    for (id, row) in granted.sorted(by: { $0.key < $1.key }) { grant(id, row, batch, &state) }
  }

  /// Nil where the event's fate is known at once.
  private func pay(_ event: Event, _ partition: Int32, _ batch: Int64, _ state: inout State) -> Draw? {
    // I8: test traffic leaves no trace.
    if event.terms.isTest { return nil }
    let reason = event.verdict == 1 ? holdReason(event, partition, batch, state) : nil
    if let reason, event.price > 0 {
      if reason < 4 { world.coverage.note(.heldBeyondCap) }
      count(event, partition, &state)
      state.held[partition, default: []].append(Held(key: event.key, reason: reason))
      return nil
    }
    if event.terms.ad == Samples.cursedAd {
      world.coverage.note(.inSuspense)
      let stored = world.billing.tables.suspended[partition] ?? []
      let index = state.suspended[partition, default: 0]
      state.suspended[partition] = index + 1
      let isThere =
        index < stored.count && stored[index].sequence == event.sequence && stored[index].event.kind == event.kind
      if !isThere { world.fail("billing[\(partition)]: \(event.kind) \(event.sequence) is not in suspense") }
      return nil
    }
    if event.verdict != 1 {
      compare(event, partition, batch, fate: 16 + Int16(event.verdict), &state)
      return nil
    }
    count(event, partition, &state)
    deliver(event, &state)
    if let payer = payer(of: event, partition, state) {
      world.coverage.note(payer == event.terms.allotment ? .chargedToAllotment : .chargedToOtherAllotment)
      charge(event, to: payer, &state)
      compare(event, partition, batch, fate: 1, &state)
    } else if event.price == 0 {
      compare(event, partition, batch, fate: 1, &state)
    } else {
      let piece = state.pieces[event.terms.allotment]
      return Draw(event: event, isLate: piece.map { $0.isEnded && $0.partition == partition } ?? false)
    }
    return nil
  }

  /// The piece that pays: the event's own, or for a click one of the same partition, campaign and day, the soonest to
  /// end; clicks only from what is set aside for them, so that impressions always fit.
  private func payer(of event: Event, _ partition: Int32, _ state: State) -> UInt64? {
    let isClick = event.kind == .click
    func canPay(_ piece: Piece) -> Bool {
      piece.partition == partition && piece.campaign == event.terms.campaign && piece.day == event.terms.budgetDay
        && !piece.isEnded && event.price <= (isClick ? piece.clickRoom : piece.amount - piece.charged)
    }
    if let own = state.pieces[event.terms.allotment], canPay(own) { return event.terms.allotment }
    guard isClick, event.price > 0 else { return nil }
    return state.pieces.filter { canPay($0.value) }.min {
      ($0.value.serveUntil, $0.key) < ($1.value.serveUntil, $1.key)
    }?
    .key
  }

  private func charge(_ event: Event, to id: UInt64, _ state: inout State) {
    guard var piece = state.pieces[id] else { return }
    piece.charged += event.price
    if event.kind == .click {
      piece.clicks += event.price
    } else if !piece.isClosed {
      let rate = Int128(piece.clickRates.ads[event.terms.ad] ?? piece.clickRates.others)
      let reserve = (Int128(event.terms.clickPrice.value) * rate + 999_999) / 1_000_000
      piece.clickReserve += max(0, min(reserve, piece.amount - piece.charged - (piece.clickReserve - piece.clicks)))
    }
    state.pieces[id] = piece
  }

  private func close(_ report: AllotmentRow, _ state: inout State) {
    guard let piece = state.pieces[report.allotment], !piece.isClosed, !piece.isEnded else { return }
    world.coverage.note(.allotmentClosed)
    let kept = min(piece.amount, max(Int128(report.used.value), piece.charged))
    state.pieces[report.allotment]?.isClosed = true
    state.pieces[report.allotment]?.amount = kept
    state.pieces[report.allotment]?.clickReserve = max(min(Int128(report.usedForClicks.value), kept), piece.clicks)
    move(piece.campaign, piece.day, allotted: kept - piece.amount, &state)
  }

  /// Nothing that was sold from it can come any more: 20 min of token, 1 h to the tap, 10 min of patience.
  private func end(_ partition: Int32, _ batch: BatchRow, _ state: inout State) {
    let passed = min(
      batch.inputs[0].position.consumedWatermark.milliseconds, batch.inputs[1].position.consumedWatermark.milliseconds)
    let limit = passed - 90 * 60_000
    for (id, piece) in state.pieces where piece.partition == partition && !piece.isEnded && piece.serveUntil < limit {
      world.coverage.note(.allotmentEnded)
      state.pieces[id]?.isEnded = true
      move(piece.campaign, piece.day, allotted: -piece.amount, charged: piece.charged, &state)
    }
  }

  private func grant(_ id: UInt64, _ row: Budgets.Allotment, _ batch: BatchRow, _ state: inout State) {
    let now = batch.committedAt.milliseconds
    let campaign = row.budget.campaign
    openDay(campaign, row.budget.day, &state)
    let dayEnd = Int64(row.budget.day + 1) * 86_400_000
    let isNew = state.ordinals.insert("\(row.partition)/\(campaign)/\(row.budget.day)/\(row.ordinal)").inserted
    let until = row.serveUntil.milliseconds
    if row.granted < 1 || Int128(row.granted) > spare(campaign, row.budget.day, state) || !isNew || until <= now
      || until > min(now + 3_600_000, dayEnd, state.flightEnds[campaign] ?? 0)
    {
      world.fail("billing[\(row.partition)]: the grant \(id) of \(row.granted) should not have been made")
    }
    state.pieces[id] = Piece(
      partition: row.partition, campaign: campaign, day: row.budget.day, amount: Int128(row.granted),
      clickRates: row.clickRates, serveUntil: until)
    move(campaign, row.budget.day, allotted: Int128(row.granted), &state)
  }

  // MARK: Books

  func openDay(_ campaign: CampaignID, _ day: Int32, _ state: inout State) {
    let key = "\(campaign)/\(day)"
    guard state.days[key] == nil, let whole = state.campaigns[campaign] else { return }
    let limit = state.daily[campaign] ?? whole.requested
    state.days[key] = Account(requested: limit, limit: limit, leastRequested: limit)
  }

  /// I5: never more set aside and charged than there is; what is lowered comes down as money returns.
  private func checkLimits(_ state: inout State) {
    func check(_ name: String, _ account: inout Account) {
      let spent = account.allotted + account.charged
      account.limit = min(account.limit, max(account.requested, spent))
      if spent > account.limit { world.fail("\(name): \(spent) is spent of \(account.limit)") }
    }
    for id in state.funding.keys { check("account \(id)", &state.funding[id, default: Account()]) }
    for id in state.campaigns.keys { check("campaign \(id)", &state.campaigns[id, default: Account()]) }
    for key in state.days.keys { check("day \(key)", &state.days[key, default: Account()]) }
  }

  /// The row of an event must say its fate, and the ledger what that comes to.
  func compare(_ event: Event, _ partition: Int32, _ batch: Int64, fate: Int16, _ state: inout State) {
    state.rowCount += 1
    let name = "billing[\(partition)]: \(event.kind) \(event.sequence) of \(event.terms.serveID)"
    guard let row = world.billing.tables.charges[event.key] else { return world.fail("\(name) has no fate") }
    let share = (event.price * Int128(event.terms.shareBasisPoints) * 2 + 10_000) / 20_000
    let developer = fate == 1 || fate == 2 ? share : 0
    let network = fate == 1 ? event.price - share : -developer
    if row.fate.number != fate || row.partition != partition || row.batch != batch {
      world.fail("\(name) has fate \(row.fate) in batch \(row.batch), \(fate) in batch \(batch) was due")
    }
    if Int128(row.developer) != developer || Int128(row.network) != network {
      world.fail("\(name) pays \(row.developer) and \(row.network), not \(developer) and \(network)")
    }
    func post(_ account: String, isDebit: Bool = false, _ amount: Int128) {
      state.ledger[Entry(account: account, currency: event.terms.currency, isDebit: isDebit), default: 0] += amount
    }
    post("advertiser:\(event.terms.advertiser)", isDebit: true, developer + network)
    post("developer:\(event.terms.developer)", developer)
    post("network:revenue", max(network, 0))
    post("network:unfunded", isDebit: true, max(-network, 0))
  }

  // MARK: The end

  private func compare(_ state: State) {
    let budgets = world.billing.tables.budgets
    for (key, level) in budgets.levels {
      let account =
        switch key {
        case .account(let id, _): state.funding[id] ?? Account()
        case .campaign(let id): state.campaigns[id] ?? Account()
        case .day(let id, let day): state.days["\(id)/\(day)"] ?? Account()
        }
      if level.allotted != account.allotted || level.charged != account.charged || level.waiting != account.waiting {
        world.fail("\(key): \(level), not \(account)")
      }
      if world.plan.waitsForEnds, level.allotted != 0 { world.fail("\(key): \(level.allotted) never returned") }
    }
    compareWaiting(state)
    compareHeld(state)
    compareRevenue()
    if world.billing.tables.charges.count != state.rowCount {
      world.fail("there are \(world.billing.tables.charges.count) fates of \(state.rowCount) events")
    }
    compareLedger(state)
  }
}
