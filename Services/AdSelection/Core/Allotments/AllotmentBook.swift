package import AdCore
package import AdEvents

/// The allotments of one partition: pieces of budget that it may sell from. A value: each method changes the book and
/// returns what is to be sent or stored.
///
/// An allotment is *asked for* (its ordinal is the next of campaign and budget day), *open* from its grant to its
/// serve-until, then *closed* with a report, never used again, and forgotten two days later.
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
  /// Nothing ends or is forgotten before this moment.
  private var nextEnd = Timestamp(milliseconds: .max)

  /// A book without allotments, or, after a restart, with those of the stored rows (closed ones too: they hold the
  /// ordinals). What was used in the last minute starts at nothing.
  package init(restoring rows: [AllotmentRow] = [], limits: Limits = Limits()) {
    self.limits = limits
    for row in rows.sorted(by: { ($0.budgetDay, $0.ordinal) < ($1.budgetDay, $1.ordinal) }) {
      accounts[row.campaign, default: AllotmentAccount()].insert(row, rememberedUntil: end(ofMemoryOf: row))
      nextEnd = min(nextEnd, row.closedAt == nil ? row.serveUntil : end(ofMemoryOf: row))
    }
  }

  /// All allotments not closed yet, for a look from outside.
  package var openRows: [AllotmentRow] {
    accounts.values.flatMap(\.open).sorted { $0.allotment < $1.allotment }
  }

  // MARK: Ask and grant

  /// The asks to be sent now, in the order of `wants`: for each campaign whose open allotments run out of money or time,
  /// at most one per ``Limits/askIntervalMilliseconds``. Asking again for an ordinal does no harm: it is granted once.
  package mutating func asks(for wants: [AllotmentWant], now: Timestamp) -> [AllotmentAsk] {
    wants.compactMap { want in
      guard isAskDue(for: want, now: now) else { return nil }
      // Taken out while it changes, so that its arrays are not copied.
      var account = accounts.removeValue(forKey: want.campaign) ?? AllotmentAccount()
      defer { accounts[want.campaign] = account }
      let used = account.recentUse.total(at: now)
      let (ordinal, overflow) = account.highestOrdinal(of: want.budgetDay).addingReportingOverflow(1)
      guard !overflow else { return nil }
      // Only the current day is asked for: earlier days' moments are of no more use.
      account.lastAsk = [want.budgetDay: now]
      return AllotmentAsk(
        campaign: want.campaign, advertiser: want.advertiser, budgetDay: want.budgetDay, ordinal: ordinal,
        usedLastMinute: Nanos(used), fullPrice: want.fullPrice, clickPrice: want.clickPrice,
        currency: want.currency)
    }
  }

  /// Whether ``asks(for:now:)`` would ask for any of `wants`.
  package func isAskDue(for wants: [AllotmentWant], now: Timestamp) -> Bool {
    wants.contains { isAskDue(for: $0, now: now) }
  }

  private func isAskDue(for want: AllotmentWant, now: Timestamp) -> Bool {
    guard let account = accounts[want.campaign] else { return true }
    if let last = account.lastAsk[want.budgetDay],
      (0..<limits.askIntervalMilliseconds).contains(now.milliseconds(since: last))
    {
      return false
    }
    return needsMore(account, want: want, usedLastMinute: account.recentUse.total(at: now), now: now)
  }

  /// Ahead of need: half of a minute's use, and at least one ad, should be left for the time that a grant takes.
  private func needsMore(_ account: AllotmentAccount, want: AllotmentWant, usedLastMinute: Int64, now: Timestamp)
    -> Bool
  {
    let soon = now.advanced(byMilliseconds: limits.leadMilliseconds)
    var left: Int64 = 0
    var largest: Int64 = 0
    for row in account.open where row.budgetDay == want.budgetDay && row.isOpen(at: soon) {
      left = left.addingReportingOverflow(row.remaining).overflow ? .max : left + row.remaining
      largest = max(largest, row.remaining)
    }
    return largest < want.fullPrice.value || left <= usedLastMinute / 2
  }

  /// Takes a grant from `ads.budgets`. Each ordinal of campaign and day counts once.
  package mutating func apply(_ grant: AllotmentGrant) -> GrantOutcome {
    guard grant.amount.value >= 1, grant.ordinal >= 1 else { return .invalid }
    var account = accounts.removeValue(forKey: grant.campaign) ?? AllotmentAccount()
    defer { accounts[grant.campaign] = account }
    guard grant.ordinal > account.highestOrdinal(of: grant.budgetDay) else { return .known }
    let row = AllotmentRow(
      allotment: grant.allotment, ordinal: grant.ordinal, campaign: grant.campaign, budgetDay: grant.budgetDay,
      amount: grant.amount, serveUntil: grant.serveUntil, clickRates: grant.clickRates)
    account.insert(row, rememberedUntil: end(ofMemoryOf: row))
    nextEnd = min(nextEnd, row.serveUntil)
    return .opened(row)
  }

  // MARK: Use

  /// Whether ``reserve(campaign:price:now:)`` would find an allotment.
  package func canReserve(campaign: CampaignID, price: AdPrice, now: Timestamp) -> Bool {
    accounts[campaign]?.firstIndex(withRoomFor: price, now: now) != nil
  }

  /// Uses an allotment for an ad, the soonest to end that has enough left; nil if none has. Never more than granted.
  package mutating func reserve(campaign: CampaignID, price: AdPrice, now: Timestamp) -> Reservation? {
    guard let account = accounts[campaign], let index = account.firstIndex(withRoomFor: price, now: now),
      let amount = price.reserved(by: account.open[index].clickRates)
    else { return nil }
    return accounts[campaign]?.use(amount, of: index, now: now)
  }

  // MARK: Close

  /// Whether ``close(now:)`` has something to do.
  package func isCloseDue(now: Timestamp) -> Bool { now >= nextEnd }

  /// Closes what has reached its serve-until, in the order of the allotments' ids: rows to be stored, whose `used` is to
  /// be reported to billing. Forgets what closed two days ago.
  package mutating func close(now: Timestamp) -> [AllotmentRow] {
    guard now >= nextEnd else { return [] }
    nextEnd = Timestamp(milliseconds: .max)
    var closed: [AllotmentRow] = []
    for campaign in Array(accounts.keys) {
      guard var account = accounts.removeValue(forKey: campaign) else { continue }
      closed += account.close(now: now)
      account.forget(now: now)
      guard let end = account.nextEnd else { continue }
      nextEnd = min(nextEnd, end)
      accounts[campaign] = account
    }
    return closed.sorted { $0.allotment < $1.allotment }
  }

  /// The report of a row that ``close(now:)`` returned; nil for one that is still open.
  package static func report(of row: AllotmentRow) -> AllotmentReport? {
    row.closedAt.map {
      AllotmentReport(allotment: row.allotment, used: row.used, usedForClicks: row.usedForClicks, closedAt: $0)
    }
  }

  private func end(ofMemoryOf row: AllotmentRow) -> Timestamp {
    row.serveUntil.advanced(byMilliseconds: limits.memoryMilliseconds)
  }
}
