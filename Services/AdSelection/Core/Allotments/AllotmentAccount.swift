internal import AdCore
internal import AdEvents

/// What an ``AllotmentBook`` knows of one campaign.
struct AllotmentAccount: Hashable, Sendable {
  /// What is remembered of a budget day, so that each ordinal counts once.
  private struct Day: Hashable, Sendable {
    var highestOrdinal: Int64
    var until: Timestamp
  }

  /// A time in which no allotment of a day is asked for.
  struct Pause: Hashable, Sendable {
    var budgetDay: Int32
    var from: Timestamp
    var milliseconds: Int64

    /// When it is over; nil if it is none at `now`: also before it began, for a clock may be set back.
    func end(of budgetDay: Int32, at now: Timestamp) -> Timestamp? {
      guard budgetDay == self.budgetDay, (0..<milliseconds).contains(now.milliseconds(since: from)) else { return nil }
      return from.advanced(byMilliseconds: milliseconds)
    }
  }

  /// Open ones and those waiting to be closed, the soonest to end first.
  private(set) var open: [AllotmentRow] = []
  private var days: [Int32: Day] = [:]
  /// After the last ask.
  private var lastAsk: Pause?
  /// Nobody has refused the last ask. A refusal has no sequence, so that an old one may come again: each ask takes one.
  private var isAskOpen = false
  /// After the last ask was refused.
  private var refusal: Pause?
  private(set) var recentUse = RecentUse()
  /// So much left of an allotment sells every ad that was found sellable, in nanos.
  var enough: Int64 = 0
  /// More or less of its ads may be sellable than when somebody last looked.
  var isTouched = false
  /// Nil while the campaign is not wanted.
  var need: AllotmentWant.Need?
  /// When an allotment is to be asked for, as far as is known; nil while none is needed.
  var askAt: Timestamp?

  /// The highest ordinal granted for the day; 0 before the first.
  func highestOrdinal(of budgetDay: Int32) -> Int64 { days[budgetDay]?.highestOrdinal ?? 0 }

  /// Whether nothing is left of it.
  var isEmpty: Bool { open.isEmpty && days.isEmpty && need == nil }

  mutating func insert(_ row: AllotmentRow, rememberedUntil until: Timestamp) {
    let day = days[row.budgetDay] ?? Day(highestOrdinal: 0, until: until)
    days[row.budgetDay] = Day(highestOrdinal: max(day.highestOrdinal, row.ordinal), until: max(day.until, until))
    guard row.closedAt == nil else { return }
    let index = open.firstIndex { ($0.serveUntil, $0.allotment) > (row.serveUntil, row.allotment) } ?? open.endIndex
    open.insert(row, at: index)
  }

  // MARK: Use

  /// What became of an allotment that was used.
  struct Use {
    let reservation: Reservation
    /// Of the allotment, in nanos.
    let remaining: Int64
    /// More is needed by now than when ``AllotmentAccount/askAt`` was made out.
    let hasNeedComeUp: Bool
  }

  /// Uses the soonest to end that has room for an ad.
  mutating func reserve(_ price: AdPrice, now: Timestamp, limits: AllotmentBook.Limits) -> Use? {
    guard let index = open.firstIndex(withRoomFor: price, now: now),
      let amount = price.reserved(by: open[index].clickRates)
    else { return nil }
    // Both are no more than the allotment's amount.
    open[index].used = Nanos(open[index].used.value + amount.total.value)
    open[index].usedForClicks = Nanos(open[index].usedForClicks.value + amount.forClicks.value)
    recentUse.add(amount.total.value, at: now)
    let reservation = Reservation(
      allotment: open[index].allotment, budgetDay: open[index].budgetDay, amount: amount.total,
      usedAfterwards: AllotmentUse(total: open[index].used, forClicks: open[index].usedForClicks))
    return Use(
      reservation: reservation, remaining: open[index].remaining,
      hasNeedComeUp: hasNeedComeUp(at: now, limits: limits))
  }

  mutating func note(_ amount: Nanos, of allotment: UInt64) {
    guard let index = open.firstIndex(where: { $0.allotment == allotment }) else { return }
    open[index].used = Nanos(open[index].used.value + min(amount.value, open[index].remaining))
  }

  // MARK: Ask

  /// Whether the next allotment should be there at `moment`, ahead of need: half of a minute's use, and at least one ad,
  /// should be left for the time that a grant takes.
  func needsMore(_ need: AllotmentWant.Need, at moment: Timestamp, limits: AllotmentBook.Limits) -> Bool {
    let soon = moment.advanced(byMilliseconds: limits.leadMilliseconds)
    var left: Int64 = 0
    var largest: Int64 = 0
    for row in open where row.budgetDay == need.budgetDay && row.isOpen(at: soon) {
      left = left.addingReportingOverflow(row.remaining).overflow ? .max : left + row.remaining
      largest = max(largest, row.remaining)
    }
    return largest < need.fullPrice.value || left <= recentUse.total(at: moment) / 2
  }

  /// When the next allotment is to be asked for, from `now` on, if nothing happens but that time passes.
  func nextAsk(now: Timestamp, limits: AllotmentBook.Limits) -> Timestamp? {
    guard let need else { return nil }
    let pauses = [lastAsk, refusal].compactMap { $0?.end(of: need.budgetDay, at: now) }
    let earliest = pauses.max() ?? now
    // A need comes up where an allotment comes near its end.
    let ends = open.map { $0.serveUntil.advanced(byMilliseconds: -limits.leadMilliseconds) }.filter { $0 > earliest }
    return ([earliest] + ends).first { needsMore(need, at: $0, limits: limits) }
  }

  private func hasNeedComeUp(at now: Timestamp, limits: AllotmentBook.Limits) -> Bool {
    guard let need, let askAt, now < askAt else { return false }
    return needsMore(need, at: now, limits: limits)
  }

  /// Only the current day is asked for: earlier days' moments are of no more use.
  mutating func noteAsk(of budgetDay: Int32, at now: Timestamp, limits: AllotmentBook.Limits) {
    lastAsk = Pause(budgetDay: budgetDay, from: now, milliseconds: limits.askIntervalMilliseconds)
    isAskOpen = true
  }

  /// The last ask was refused, if it was for this and nobody has refused it before.
  mutating func refuse(_ refused: AllotmentRefusal, at now: Timestamp) {
    guard isAskOpen, lastAsk?.budgetDay == refused.budgetDay,
      highestOrdinal(of: refused.budgetDay) == refused.ordinal - 1
    else { return }
    isAskOpen = false
    refusal = Pause(budgetDay: refused.budgetDay, from: now, milliseconds: refused.waitMilliseconds)
  }

  /// It was granted after all, or what comes before it was.
  mutating func endRefusal() { refusal = nil }

  // MARK: Close

  /// Takes out what has reached its serve-until.
  mutating func close(now: Timestamp) -> [AllotmentRow] {
    let ended = open.prefix { $0.serveUntil <= now }
    open.removeFirst(ended.count)
    return ended.map { row in
      var closed = row
      closed.closedAt = now
      return closed
    }
  }

  /// Forgets the days whose time has come; says when the next one's comes.
  mutating func forget(now: Timestamp) -> Timestamp? {
    days = days.filter { $0.value.until > now }
    return days.values.map(\.until).min()
  }
}
