import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline

/// Click tracking's tables in memory.
struct ClickTables: SimulatedTables {
  typealias Service = ClickTracking

  let windows: Windows
  private(set) var clicks: [ActionIdentity: AcceptedClick] = [:]
  /// Those that retention removed as well: the audit wants them.
  private(set) var bySequence: [Int32: [ClickEffects.Click]] = [:]
  /// Up to which sequence retention has removed rows.
  private var removedUpTo: [Int32: Int64] = [:]
  private(set) var parked: [ActionIdentity: ParkedClick] = [:]
  private(set) var impressions: [ServeID: Timestamp] = [:]
  private(set) var stopped: Set<ActionIdentity> = []
  var counts = SimulatedCounts<ClickMinuteKey, Int64> { $0 += $1 }
  /// Clicks that waited although their ad had been seen.
  private(set) var waitedForEarlier = 0
  private let servesMaximum: Int
  private let sabotage: Sabotage?

  init(windows: Windows, servesMaximum: Int, sabotage: Sabotage? = nil) {
    self.windows = windows
    self.servesMaximum = servesMaximum
    self.sabotage = sabotage
  }

  func load(_ partition: Int32, now: Timestamp, for context: InstanceContext) -> ClickDecider {
    ClickDecider(windows: windows, memory: ClickMemory(servesMaximum: servesMaximum))
  }

  func lookUp(_ query: ClickQuery, partition: Int32) -> ClickKnowledge {
    var known = ClickKnowledge()
    known.identities = query.identities.filter { clicks[$0] != nil || stopped.contains($0) }
    known.serves = query.serves
    for serve in query.serves { known.seenAt[serve] = impressions[serve] }
    let waiting = parked.values.filter { $0.terms.partition == partition }
    known.expired = query.expired.map { expired($0, of: waiting) } ?? []
    let serves = query.waitedFor.union(known.expired)
    let waitedFor = waiting.filter { serves.contains($0.terms.serveID) }.map(\.client)
    for client in Set(query.clients.keys).union(waitedFor) {
      var found = ClientClicks()
      for click in bySequence[partition] ?? [] where click.isJudged && ClickClient(of: click.accepted.terms) == client {
        found.judged.append(
          .init(
            serveID: click.accepted.terms.serveID, eventTime: click.accepted.eventTime,
            isAccidental: click.isAccidental, isBillable: click.accepted.verdict == .billable))
      }
      if sabotage != .forgetEarlier || query.serves.isEmpty {
        found.waiting = waiting.filter { $0.client == client }.sorted { $0.position < $1.position }
        for click in found.waiting { known.seenAt[click.terms.serveID] = impressions[click.terms.serveID] }
      }
      known.clients[client] = found
    }
    known.unseen = query.unseen.map { unseen($0, of: waiting) }
    return known
  }

  private func expired(_ asked: ExpiredServes, of waiting: [ParkedClick]) -> [ServeID] {
    let serves = waiting.map { UnseenServe(of: $0.terms) }
    return asked.of(Set(serves).filter { $0.expiresAt < asked.before && impressions[$0.serveID] == nil }.sorted())
  }

  /// The next serves of those on which clicks wait.
  private func unseen(_ page: UnseenPage.Query, of waiting: [ParkedClick]) -> UnseenPage {
    let found = Set(waiting.map { UnseenServe(of: $0.terms) }).filter { $0 > page.after }.sorted().prefix(page.count)
    return UnseenPage(
      answering: page, serves: found.filter { impressions[$0.serveID] == nil },
      last: found.count < page.count ? nil : found.last)
  }

  func violation(of batch: CommitBatch<ClickTracking>) -> RowRefusal? {
    let effects = batch.effects
    let newParked = effects.parked.values
    if effects.clicks.contains(where: { Devices.isRefused($0.accepted.terms) })
      || newParked.contains(where: { Devices.isRefused($0.terms) })
    {
      return .refused("the row of a click is refused")
    }
    var identities = Set<ActionIdentity>()
    var billable = Set(clicks.values.filter { $0.verdict == .billable }.map(\.terms.serveID))
    for click in effects.clicks {
      let isNew = clicks[click.identity] == nil && identities.insert(click.identity).inserted
      if !isNew { return .duplicate }
      if click.accepted.verdict == .billable, !billable.insert(click.accepted.terms.serveID).inserted {
        return .duplicate
      }
    }
    for action in effects.stoppedActions {
      let identity = ActionIdentity(serveID: action.terms.serveID, kind: action.kind, idHash: action.idHash)
      if stopped.contains(identity) || !identities.insert(identity).inserted { return .duplicate }
    }
    if effects.impressions.contains(where: { impressions[$0.serveID] != nil }) { return .duplicate }
    return newParked.contains { parked[$0.identity] != nil } ? .duplicate : nil
  }

  mutating func apply(_ batch: CommitBatch<ClickTracking>, for context: InstanceContext) -> CommitResult {
    let effects = batch.effects
    waitedForEarlier += effects.clicks.count { $0.wasParked && impressions[$0.accepted.terms.serveID] != nil }
    for impression in effects.impressions { impressions[impression.serveID] = impression.shownAt }
    for click in effects.clicks {
      clicks[click.identity] = click.accepted
      bySequence[batch.partition, default: []].append(click)
    }
    for identity in effects.released { parked[identity] = nil }
    parked.merge(effects.parked) { $1 }
    for action in effects.stoppedActions {
      stopped.insert(ActionIdentity(serveID: action.terms.serveID, kind: action.kind, idHash: action.idHash))
    }
    let tapped = effects.clicks.map(\.accepted).map {
      ClickMinuteKey(kind: .click, verdict: $0.verdict, AdMinute(of: $0.terms, time: $0.eventTime))
    }
    let stopped = effects.stoppedActions.map {
      ClickMinuteKey(kind: $0.kind, verdict: nil, AdMinute(of: $0.terms, time: $0.eventTime))
    }
    counts.commit((tapped + stopped).map { ($0, 1) }, partition: batch.partition, batch: batch.number)
    return CommitResult()
  }

  /// Nobody can publish them any more.
  mutating func removeRows(_ partition: Int32, upTo sequence: Int64) {
    removedUpTo[partition] = max(removedUpTo[partition, default: 0], sequence)
  }

  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage] {
    let first = max(sequence, removedUpTo[partition, default: 0] + 1)
    let rows = (bySequence[partition] ?? []).lazy.filter { $0.sequence >= first }.prefix(limit)
    return ClickTracking.messages(rows.map { ($0.sequence, $0.accepted) })
  }

  func messages(of batch: CommitBatch<ClickTracking>) -> [NumberedMessage] {
    ClickTracking.messages(batch.effects.clicks.map { ($0.sequence, $0.accepted) })
  }
}

extension ClickEffects.Click {
  var identity: ActionIdentity {
    ActionIdentity(serveID: accepted.terms.serveID, kind: .click, idHash: accepted.idHash)
  }
}
