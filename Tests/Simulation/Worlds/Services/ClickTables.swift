import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline

/// Click tracking's tables in memory.
struct ClickTables: SimulatedTables {
  typealias Service = ClickTracking

  let windows: Windows
  private(set) var clicks: [ActionIdentity: AcceptedClick] = [:]
  private(set) var bySequence: [Int32: [ClickEffects.Click]] = [:]
  private(set) var parked: [ServeID: [ParkedClick]] = [:]
  private(set) var impressions: [ServeID: Timestamp] = [:]
  private(set) var stopped: Set<ActionIdentity> = []
  private(set) var countedEvents: Int64 = 0

  init(windows: Windows) { self.windows = windows }

  func load(_ partition: Int32, now: Timestamp, for context: InstanceContext) -> ClickDecider {
    let own = parked.filter { $0.value.contains { $0.terms.partition == partition } }
    return ClickDecider(windows: windows, parked: own.compactMapValues { $0.map(\.terms.expiresAt).max() })
  }

  func look(up query: ClickQuery, partition: Int32) -> ClickKnowledge {
    var known = ClickKnowledge()
    known.identities = query.identities.filter { clicks[$0] != nil || stopped.contains($0) }
    for serve in query.serves {
      var found = ServeClicks()
      let decided = clicks.filter { $0.key.serveID == serve }.values
      found.shownAt = impressions[serve]
      found.decidedCount = min(decided.count, ServeClicks.decidedMaximum)
      found.hasBillable = decided.contains { $0.verdict == .billable }
      if query.parked.contains(serve) { found.parked = parked[serve] ?? [] }
      known.serves[serve] = found
    }
    for (client, span) in query.clients {
      known.counted[client] = clicks.values.filter {
        $0.terms.clientHash == client && $0.verdict == .billable && span.contains($0.eventTime)
      }.map(\.eventTime)
    }
    return known
  }

  func violation(of batch: CommitBatch<ClickTracking>) -> PipelineError? {
    let effects = batch.effects
    let newParked = effects.parked.values.flatMap { $0 }
    if effects.clicks.contains(where: { Devices.isRefused($0.accepted.terms) })
      || newParked.contains(where: { Devices.isRefused($0.terms) })
    {
      return .dataRefused("the row of a click is refused")
    }
    var identities = Set<ActionIdentity>()
    var billable = Set(clicks.values.filter { $0.verdict == .billable }.map(\.terms.serveID))
    for click in effects.clicks {
      let isNew = clicks[click.identity] == nil && identities.insert(click.identity).inserted
      if !isNew { return .duplicateFound }
      if click.accepted.verdict == .billable, !billable.insert(click.accepted.terms.serveID).inserted {
        return .duplicateFound
      }
    }
    for action in effects.stoppedActions {
      let identity = ActionIdentity(serveID: action.terms.serveID, kind: action.kind, idHash: action.idHash)
      if stopped.contains(identity) || !identities.insert(identity).inserted { return .duplicateFound }
    }
    if effects.impressions.contains(where: { impressions[$0.serveID] != nil }) { return .duplicateFound }
    for click in newParked
    where parked[click.terms.serveID]?.contains(where: { $0.idHash == click.idHash }) ?? false {
      return .duplicateFound
    }
    return nil
  }

  mutating func apply(_ batch: CommitBatch<ClickTracking>, for context: InstanceContext) -> CommitResult {
    let effects = batch.effects
    for impression in effects.impressions { impressions[impression.serveID] = impression.shownAt }
    for click in effects.clicks {
      clicks[click.identity] = click.accepted
      bySequence[batch.partition, default: []].append(click)
    }
    for (serve, waiting) in effects.parked { parked[serve, default: []] += waiting }
    for serve in effects.released { parked[serve] = nil }
    for action in effects.stoppedActions {
      stopped.insert(ActionIdentity(serveID: action.terms.serveID, kind: action.kind, idHash: action.idHash))
    }
    countedEvents += effects.counts.values.reduce(0, +)
    return CommitResult()
  }

  func messages(partition: Int32, output: Int, from sequence: Int64, limit: Int) -> [NumberedMessage] {
    (bySequence[partition] ?? []).lazy.filter { $0.sequence >= sequence }.prefix(limit).map(Self.message)
  }

  func messages(of batch: CommitBatch<ClickTracking>) -> [NumberedMessage] { batch.effects.clicks.map(Self.message) }

  private static func message(_ click: ClickEffects.Click) -> NumberedMessage {
    NumberedMessage(
      output: 0, sequence: click.sequence,
      message: ClickTracking.message(click.accepted, sequence: click.sequence))
  }
}

extension ClickEffects.Click {
  var identity: ActionIdentity {
    ActionIdentity(serveID: accepted.terms.serveID, kind: .click, idHash: accepted.idHash)
  }
}
