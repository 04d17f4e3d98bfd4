internal import AdCore

/// What an ``AllotmentBook`` knows of one campaign.
struct AllotmentAccount: Hashable, Sendable {
  /// What is remembered of a budget day, so that each ordinal counts once.
  private struct Day: Hashable, Sendable {
    var highestOrdinal: Int64
    var until: Timestamp
  }

  /// Open ones and those waiting to be closed, the soonest to end first.
  private(set) var open: [AllotmentRow] = []
  private var days: [Int32: Day] = [:]
  /// When an allotment of the day named was last asked for.
  var lastAsk: [Int32: Timestamp] = [:]
  private(set) var recentUse = RecentUse()

  /// The highest ordinal granted for the day; 0 before the first.
  func highestOrdinal(of budgetDay: Int32) -> Int64 { days[budgetDay]?.highestOrdinal ?? 0 }

  /// When something of this account ends or is forgotten next; nil if nothing is left of it.
  var nextEnd: Timestamp? {
    let memory = days.values.map(\.until).min()
    guard let end = open.first?.serveUntil else { return memory }
    return memory.map { min($0, end) } ?? end
  }

  mutating func insert(_ row: AllotmentRow, rememberedUntil until: Timestamp) {
    let day = days[row.budgetDay] ?? Day(highestOrdinal: 0, until: until)
    days[row.budgetDay] = Day(highestOrdinal: max(day.highestOrdinal, row.ordinal), until: max(day.until, until))
    guard row.closedAt == nil else { return }
    let place = open.firstIndex { ($0.serveUntil, $0.allotment) > (row.serveUntil, row.allotment) } ?? open.endIndex
    open.insert(row, at: place)
  }

  /// Where in ``open`` the soonest to end is that has room for an ad.
  func firstIndex(withRoomFor price: AdPrice, now: Timestamp) -> Int? {
    open.firstIndex { row in
      guard row.isOpen(at: now), let amount = price.reserved(by: row.clickRates)?.total else { return false }
      return row.remaining >= amount.value
    }
  }

  /// Uses the allotment at `index`, which has room for it, for an ad.
  mutating func use(_ amount: AllotmentUse, of index: Int, now: Timestamp) -> Reservation {
    // Both are no more than the allotment's amount.
    open[index].used = Nanos(open[index].used.value + amount.total.value)
    open[index].usedForClicks = Nanos(open[index].usedForClicks.value + amount.forClicks.value)
    recentUse.add(amount.total.value, at: now)
    return Reservation(
      allotment: open[index].allotment, budgetDay: open[index].budgetDay, amount: amount.total,
      usedAfterwards: AllotmentUse(total: open[index].used, forClicks: open[index].usedForClicks))
  }

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

  /// Forgets the days whose time has come.
  mutating func forget(now: Timestamp) {
    days = days.filter { $0.value.until > now }
  }
}
