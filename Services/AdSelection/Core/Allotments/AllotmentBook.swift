package import AdCore
package import AdEvents

/// The allotments of one partition: pieces of budget that it may sell from. A value: each method changes the book and
/// returns what is to be sent or stored.
///
/// An allotment is *asked for* (its ordinal is the next of campaign and budget day), *open* from its grant to its
/// serve-until, then *closed* with a report, never used again, and forgotten two days later. What time brings about is
/// found by its moment, never by looking at all campaigns.
package struct AllotmentBook: Hashable, Sendable {
  package struct Limits: Hashable, Sendable {
    /// Between two asks for the same campaign and day, in milliseconds.
    package var askIntervalMilliseconds: Int64 = 1_000
    /// How long before the last open allotment ends the next is asked for, in milliseconds.
    package var leadMilliseconds: Int64 = 3_000
    /// How long a closed allotment is remembered, in milliseconds.
    package var memoryMilliseconds: Int64 = 48 * 3_600_000

    package init() {}
  }

  package let limits: Limits
  private var accounts: [CampaignID: AllotmentAccount] = [:]
  /// The moment for which ``touched`` is true.
  private var now = Timestamp(milliseconds: .min)
  /// The campaigns of which more or less ads may be sellable than when somebody last looked; each knows that it is here.
  private var touched: [CampaignID] = []
  /// When open allotments reach their serve-until: at first they cannot be used any more, then they are closed.
  private var expiries = Deadlines()
  private var closes = Deadlines()
  private var memories = Deadlines()
  /// By ``AllotmentAccount/askAt``; others than those are out of date, and never the first.
  private var asks = Deadlines()
  /// The version of the wants that the accounts know.
  private var wantsVersion = 0

  /// A book without allotments, or, after a restart, with those of the stored rows (closed ones too: they hold the
  /// ordinals). What was used in the last minute starts at nothing.
  package init(restoring rows: [AllotmentRow] = [], limits: Limits = Limits()) {
    self.limits = limits
    for row in rows.sorted(by: { ($0.budgetDay, $0.ordinal) < ($1.budgetDay, $1.ordinal) }) { insert(row) }
  }

  /// All allotments not closed yet, for a look from outside.
  var openRows: [AllotmentRow] {
    accounts.values.flatMap(\.open).sorted { $0.allotment < $1.allotment }
  }

  private mutating func insert(_ row: AllotmentRow) {
    let endOfMemory = row.serveUntil.advanced(byMilliseconds: limits.memoryMilliseconds)
    let isNewDay = accounts[row.campaign]?.highestOrdinal(of: row.budgetDay) ?? 0 == 0
    if isNewDay { memories.add(row.campaign, at: endOfMemory) }
    accounts[row.campaign, default: AllotmentAccount()].insert(row, rememberedUntil: endOfMemory)
    guard row.closedAt == nil else { return }
    expiries.add(row.campaign, at: row.serveUntil)
    closes.add(row.campaign, at: row.serveUntil)
    touch(row.campaign)
  }

  /// Takes a grant from `ads.budgets`. Each ordinal of campaign and day counts once.
  package mutating func apply(_ grant: AllotmentGrant) -> GrantOutcome {
    guard grant.amount.value >= 1, grant.ordinal >= 1 else { return .invalid }
    guard grant.ordinal > accounts[grant.campaign]?.highestOrdinal(of: grant.budgetDay) ?? 0 else { return .known }
    let row = AllotmentRow(
      allotment: grant.allotment, ordinal: grant.ordinal, campaign: grant.campaign, budgetDay: grant.budgetDay,
      amount: grant.amount, serveUntil: grant.serveUntil, clickRates: grant.clickRates)
    insert(row)
    accounts[grant.campaign]?.endRefusal()
    planAsk(for: grant.campaign)
    return .opened(row)
  }

  /// Takes a refusal from `ads.budgets`: the allotment is not asked for again before its time.
  package mutating func apply(_ refusal: AllotmentRefusal, now: Timestamp) {
    turn(to: now)
    accounts[refusal.campaign]?.refuse(refusal, at: now)
    planAsk(for: refusal.campaign)
  }

  // MARK: Time

  /// Goes on to `now`, or back where a clock was set back: then what had ended may be open again.
  mutating func turn(to now: Timestamp) {
    if now == self.now { return }
    defer { self.now = now }
    if now < self.now {
      expiries = Deadlines()
      for (campaign, account) in accounts {
        for row in account.open where now < row.serveUntil { expiries.add(campaign, at: row.serveUntil) }
      }
      self.now = now
      for campaign in Array(accounts.keys) {
        touch(campaign)
        planAsk(for: campaign)
      }
    } else if expiries.isDue(at: now) {
      for campaign in expiries.takeDue(at: now) { touch(campaign) }
    }
  }

  private mutating func touch(_ campaign: CampaignID) {
    guard let index = accounts.index(forKey: campaign) else { return }
    touch(campaign, at: index)
  }

  private mutating func touch(_ campaign: CampaignID, at index: Dictionary<CampaignID, AllotmentAccount>.Index) {
    guard !accounts.values[index].isTouched else { return }
    accounts.values[index].isTouched = true
    touched.append(campaign)
  }

  // MARK: Use

  /// Whether ``reserve(campaign:price:now:)`` would find an allotment.
  package func canReserve(campaign: CampaignID, price: AdPrice, now: Timestamp) -> Bool {
    accounts[campaign]?.open.firstIndex(withRoomFor: price, now: now) != nil
  }

  /// Lends `body` what answers that for ads of one campaign, at the moment that the book has come to. From then on only
  /// a use after which one of them may be too dear touches the campaign.
  mutating func visit(_ campaign: CampaignID, _ body: (inout CampaignFunds) -> Void) {
    let index = accounts.index(forKey: campaign)
    visit(at: index, enough: index.map { accounts.values[$0].enough } ?? 0, body)
  }

  /// The same for one of the campaigns that are to be looked at again by whoever keeps account of what can be sold; false
  /// if there is none.
  mutating func visitTouched(_ body: (CampaignID, inout CampaignFunds) -> Void) -> Bool {
    guard let campaign = touched.popLast() else { return false }
    let index = accounts.index(forKey: campaign)
    if let index { accounts.values[index].isTouched = false }
    visit(at: index, enough: 0) { body(campaign, &$0) }
    return true
  }

  private mutating func visit(
    at index: Dictionary<CampaignID, AllotmentAccount>.Index?, enough: Int64, _ body: (inout CampaignFunds) -> Void
  ) {
    var funds = CampaignFunds(index.map { accounts.values[$0].open } ?? [], enough: enough, at: now)
    body(&funds)
    if let index { accounts.values[index].enough = funds.enough }
  }

  /// Uses an allotment for an ad, the soonest to end that has enough left; nil if none has. Never more than granted.
  package mutating func reserve(campaign: CampaignID, price: AdPrice, now: Timestamp) -> Reservation? {
    turn(to: now)
    // Changed in place: looking a campaign up, and an account copied, cost more than the reservation.
    guard let index = accounts.index(forKey: campaign),
      let use = accounts.values[index].reserve(price, now: now, limits: limits)
    else { return nil }
    if use.remaining < accounts.values[index].enough { touch(campaign, at: index) }
    if use.hasNeedComeUp { planAsk(for: campaign) }
    return use.reservation
  }

  /// Notes that so much of an open allotment was used, as the row of a decision tells it.
  mutating func note(_ amount: Nanos, of allotment: UInt64, campaign: CampaignID) {
    accounts[campaign]?.note(amount, of: allotment)
    touch(campaign)
  }

  // MARK: Ask

  /// The asks to be sent now, in the order of their campaigns: for each campaign whose open allotments run out of money
  /// or time, at most one per ``Limits/askIntervalMilliseconds``, and none while a refusal says to wait. Asking again for
  /// an ordinal does no harm: it is granted once.
  package mutating func asks(for wants: AllotmentWants, now: Timestamp) -> [AllotmentAsk] {
    turn(to: now)
    follow(wants)
    let due = Set(asks.takeDue(at: now))
    defer { dropOutdatedAsks() }
    return due.sorted().compactMap { ask(for: $0, wants, now: now) }
  }

  private mutating func ask(for campaign: CampaignID, _ wants: AllotmentWants, now: Timestamp) -> AllotmentAsk? {
    guard let want = wants[campaign], let account = accounts[campaign], let askAt = account.askAt, askAt <= now else {
      return nil
    }
    defer { planAsk(for: campaign) }
    accounts[campaign]?.askAt = nil
    let (ordinal, overflow) = account.highestOrdinal(of: want.budgetDay).addingReportingOverflow(1)
    guard account.nextAsk(now: now, limits: limits) == now, !overflow else { return nil }
    accounts[campaign]?.noteAsk(of: want.budgetDay, at: now, limits: limits)
    return AllotmentAsk(
      campaign: want.campaign, advertiser: want.advertiser, budgetDay: want.budgetDay, ordinal: ordinal,
      usedLastMinute: Nanos(account.recentUse.total(at: now)), fullPrice: want.fullPrice, clickPrice: want.clickPrice,
      currency: want.currency)
  }

  /// Whether ``asks(for:now:)`` would ask for something.
  package func isAskDue(for wants: AllotmentWants, now: Timestamp) -> Bool {
    if now < self.now || asks.isDue(at: now) { return true }
    return changes(of: wants).contains { campaign in
      guard let want = wants[campaign] else { return false }
      var account = accounts[campaign] ?? AllotmentAccount()
      account.need = want.need
      return account.nextAsk(now: now, limits: limits) == now
    }
  }

  /// The campaigns of which the accounts may not know yet what is wanted.
  private func changes(of wants: AllotmentWants) -> [CampaignID] {
    wants.changes(since: wantsVersion) ?? Array(accounts.keys) + wants.campaigns
  }

  private mutating func follow(_ wants: AllotmentWants) {
    let changed = changes(of: wants)
    wantsVersion = wants.version
    for campaign in changed where accounts[campaign]?.need != wants[campaign]?.need {
      accounts[campaign, default: AllotmentAccount()].need = wants[campaign]?.need
      planAsk(for: campaign)
      if accounts[campaign]?.isEmpty ?? false { accounts[campaign] = nil }
    }
  }

  private mutating func planAsk(for campaign: CampaignID) {
    let moment = accounts[campaign]?.nextAsk(now: now, limits: limits)
    guard accounts[campaign]?.askAt != moment else { return }
    accounts[campaign]?.askAt = moment
    if let moment { asks.add(campaign, at: moment) }
    dropOutdatedAsks()
  }

  private mutating func dropOutdatedAsks() {
    while let first = asks.first, accounts[first.campaign]?.askAt != first.at { asks.removeFirst() }
  }

  // MARK: Close

  /// Whether ``close(now:)`` has something to close.
  package func isCloseDue(now: Timestamp) -> Bool { closes.isDue(at: now) }

  /// Closes what has reached its serve-until, in the order of the allotments' ids: rows to be stored, whose `used` is to
  /// be reported to billing. Forgets what closed two days ago.
  package mutating func close(now: Timestamp) -> [AllotmentRow] {
    var closed: [AllotmentRow] = []
    for campaign in Set(closes.takeDue(at: now)) {
      closed += accounts[campaign]?.close(now: now) ?? []
      touch(campaign)
    }
    for campaign in Set(memories.takeDue(at: now)) {
      if let next = accounts[campaign]?.forget(now: now) { memories.add(campaign, at: next) }
      if accounts[campaign]?.isEmpty ?? false { accounts[campaign] = nil }
    }
    return closed.sorted { $0.allotment < $1.allotment }
  }

  /// The report of a row that ``close(now:)`` returned; nil for one that is still open.
  package static func report(of row: AllotmentRow) -> AllotmentReport? {
    row.closedAt.map {
      AllotmentReport(allotment: row.allotment, used: row.used, usedForClicks: row.usedForClicks, closedAt: $0)
    }
  }
}
