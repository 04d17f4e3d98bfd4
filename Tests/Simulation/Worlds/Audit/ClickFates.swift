import AdCore

/// What each click of a partition is worth, in the order of offsets, without duplicates, all views known: the rule as
/// the documents tell it.
struct ClickFates {
  struct Fate {
    /// As in `click_tracking.click`.
    var verdict: UInt8
    /// False where too many came before it.
    var isJudged: Bool
  }

  private struct Client: Hashable {
    var hash: UInt64
    var isTest: Bool
  }

  private struct Room: Hashable {
    var client: Client
    var isAccidental: Bool
    var day: Int64
    /// Nil for all ads of the day.
    var serve: UUIDv7?
  }

  private let seenAt: [UUIDv7: Int64]
  private(set) var byClick: [UInt64: Fate] = [:]
  private var taken: [Room: Int] = [:]
  private var billableServes: Set<UUIDv7> = []
  private var billableTimes: [Client: [Int64]] = [:]

  /// - Parameter seenAt: When ads were seen; no other was or, by now, is known to have been.
  init(_ clicks: [ClickAudit.Due], seenAt: [UUIDv7: Int64]) {
    self.seenAt = seenAt
    for click in clicks { byClick[click.idHash] = next(click) }
  }

  private mutating func next(_ click: ClickAudit.Due) -> Fate {
    let serve = click.terms.serveID
    let client = Client(hash: click.terms.clientHash, isTest: click.terms.isTest)
    let day = Room(
      client: client, isAccidental: click.isAccidental, day: click.terms.issuedAt.milliseconds / (24 * Devices.hour))
    var ofServe = day
    ofServe.serve = serve
    if taken[ofServe, default: 0] >= 4 { return Fate(verdict: 2, isJudged: false) }
    if taken[day, default: 0] >= Devices.judgedClicksOfClientPerDay { return Fate(verdict: 6, isJudged: false) }
    taken[ofServe, default: 0] += 1
    taken[day, default: 0] += 1
    let verdict = verdict(click, client)
    if verdict == 1 {
      billableServes.insert(serve)
      billableTimes[client, default: []].append(click.time)
    }
    return Fate(verdict: verdict, isJudged: true)
  }

  private func verdict(_ click: ClickAudit.Due, _ client: Client) -> UInt8 {
    guard let seen = seenAt[click.terms.serveID] else { return 7 }
    let delay = click.time - seen
    if delay < -Devices.viewTime { return 8 }
    if click.isAccidental { return 3 }
    if delay < 100 { return 4 }
    if delay > Devices.hour { return 5 }
    if billableServes.contains(click.terms.serveID) { return 2 }
    let minute: Int64 = 60_000
    let limits: [(Int, Int64)] = [(1, minute), (3, 10 * minute), (10, 60 * minute), (25, 1_440 * minute)]
    let times = (billableTimes[client] ?? []) + [click.time]
    let isOverLimit = limits.contains { most, length in
      times.contains { start in times.count { $0 >= start && $0 < start + length } > most }
    }
    return isOverLimit ? 6 : 1
  }

  /// Whether a click may have no verdict yet: its ad was not seen, or, where nothing but its ad's other clicks and the
  /// limits can refuse it, one of the earlier ones that wait is of its client, and near enough to matter.
  func mayWait(_ click: ClickAudit.Due, behind earlier: ArraySlice<ClickAudit.Due>) -> Bool {
    guard let fate = byClick[click.idHash], fate.isJudged else { return false }
    guard seenAt[click.terms.serveID] != nil else { return true }
    guard [1, 2, 6].contains(fate.verdict) else { return false }
    return earlier.contains { other in
      !other.isAccidental && other.terms.clientHash == click.terms.clientHash
        && other.terms.isTest == click.terms.isTest
        && (other.terms.serveID == click.terms.serveID || abs(other.time - click.time) < 24 * Devices.hour)
    }
  }
}
