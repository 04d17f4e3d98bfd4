import AdCore
import AdEvents
import Pipeline

/// Decides which clicks count: one for each served ad (M4), with its impression (M5), within the limits, no accidents
/// (M7).
///
/// A click whose impression has not come is parked. When the impression comes, or when its watermark says that it will
/// not, the parked clicks of its ad are decided in the order in which they came, just as if the impression had come
/// first.
package struct ClickDecider: PartitionDecider {
  package typealias Service = ClickTracking

  /// How many serves one batch of the timer gives up at most.
  package static let expiredServesMaximum = 2_000

  private let windows: Windows
  /// Serves with parked clicks, and when their tokens expire. What is not here costs an impression no look-up.
  private var parked: [ServeID: Timestamp]
  /// No parked click's token expires earlier.
  private var earliestExpiry: Timestamp
  /// What the last decision changed in ``parked``, to change it back.
  private var journal: [(serve: ServeID, before: Timestamp?)] = []

  /// - Parameter parked: The serves that have parked clicks in the tables, and when their tokens expire.
  package init(windows: Windows, parked: [ServeID: Timestamp]) {
    self.windows = windows
    self.parked = parked
    earliestExpiry = parked.values.min() ?? Timestamp(milliseconds: .max)
  }

  // MARK: Questions

  package func query(for records: [InputRecord<ClickInput>], context: BatchContext) -> ClickQuery? {
    guard !context.isRefused else { return nil }
    var query = ClickQuery()
    if records.isEmpty { query.serves = Set(expiredServes(context)) }
    for record in records {
      switch record.event {
      case .action(let event) where event.terms.partition == context.partition:
        query.identities.insert(event.identity)
        guard event.kind == .click else { continue }
        query.serves.insert(event.terms.serveID)
        query.addClient(of: event.terms, windows: windows)
      case .impression(let impression) where parked[impression.terms.serveID] != nil:
        query.serves.insert(impression.terms.serveID)
        query.addClient(of: impression.terms, windows: windows)
      case .action, .impression, .watermark, .rejected:
        break
      }
    }
    query.parked = query.serves.filter { parked[$0] != nil }
    return query.isEmpty ? nil : query
  }

  package func isTimerDue(_ context: BatchContext) -> Bool { isExpired(earliestExpiry, context) }

  /// Whether no impression of a token that expires then can come any more: whatever arrived in time is decided.
  private func isExpired(_ expiresAt: Timestamp, _ context: BatchContext) -> Bool {
    context.takenWatermarks[ClickTracking.impressionsInput] > windows.lastImpressionArrival(expiresAt: expiresAt)
  }

  /// The next serves that the timer gives up, in the order of their ids.
  private func expiredServes(_ context: BatchContext) -> [ServeID] {
    guard isTimerDue(context) else { return [] }
    let expired = parked.filter { isExpired($0.value, context) }.keys.sorted()
    return Array(context.timer.of(expired, most: Self.expiredServesMaximum))
  }

  // MARK: Decisions

  package mutating func decide(
    _ records: [InputRecord<ClickInput>], knowing knowledge: ClickKnowledge?, context: BatchContext
  ) -> Decision<ClickEffects> {
    journal.removeAll(keepingCapacity: true)
    var draft = ClickDraft(
      known: knowledge ?? ClickKnowledge(),
      decision: Decision(outcomes: Array(repeating: .accepted, count: records.count), effects: ClickEffects()),
      context: context)
    for serve in draft.known.serves.values {
      for click in serve.parked { draft.known.identities.insert(click.identity) }
    }
    for client in draft.known.counted.keys { draft.known.counted[client]?.sort() }
    if records.isEmpty { giveUp(knowledge == nil ? [] : expiredServes(context), in: &draft) }
    for (index, record) in records.enumerated() {
      if context.isRefused {
        draft.decision.reject(index, .refusedByDatabase, "the database refused this record")
        continue
      }
      switch record.event {
      case .rejected(let rejection): draft.decision.reject(index, rejection.reason, rejection.detail)
      case .watermark: draft.decision.outcomes[index] = .noted
      case .impression(let impression): decide(impression, at: index, in: &draft)
      case .action(let event): decide(event, of: record, at: index, in: &draft)
      }
    }
    return draft.decision
  }

  private mutating func decide(
    _ event: ActionEvent, of record: InputRecord<ClickInput>, at index: Int, in draft: inout ClickDraft
  ) {
    let terms = event.terms
    guard terms.partition == draft.context.partition else {
      forward(event, at: index, in: &draft)
      return
    }
    let arrival = max(record.arrival, draft.context.committedWatermark)
    let age: Int64? = if case .milliseconds(let age) = event.age { age } else { nil }
    let timing = EventTiming.judge(
      .click, terms: terms, ageMilliseconds: age, claimedTime: event.claimedTime, arrival: arrival, windows: windows)
    guard case .at(let time) = timing else {
      let (reason, detail) = timing.rejection
      draft.decision.reject(index, reason, detail)
      return
    }
    guard draft.known.identities.insert(event.identity).inserted else {
      draft.decision.outcomes[index] = .duplicate
      return
    }
    guard event.kind == .click else {
      draft.decision.effects.stoppedActions.append(
        .init(kind: event.kind, idHash: event.idHash, terms: terms, eventTime: time))
      draft.count(MinuteKey(kind: event.kind, verdict: nil, terms: terms, time: time))
      return
    }
    let click = ParkedClick(
      terms: terms, idHash: event.idHash, eventTime: time, arrival: arrival,
      isAccidental: windows.isAccidental(
        actionMilliseconds: event.actionMilliseconds, leftApplication: event.leftApplication),
      batchNumber: draft.context.batchNumber, offset: record.offset)
    draft.decision.outcomes[index] = decide(click, in: &draft)
  }

  /// Decides a click as soon as it can be.
  private mutating func decide(_ click: ParkedClick, in draft: inout ClickDraft) -> Outcome {
    let id = click.terms.serveID
    let serve = draft.known.serves[id] ?? ServeClicks()
    let verdict: ClickVerdict
    if serve.isFull {
      verdict = .repeat
    } else if let shownAt = serve.shownAt {
      verdict = judge(click, of: serve, shownAt: shownAt, in: draft)
    } else {
      draft.known.serves[id, default: ServeClicks()].parked.append(click)
      draft.decision.effects.parked[id, default: []].append(click)
      park(id, expiresAt: click.terms.expiresAt)
      return .parked
    }
    draft.record(click, verdict, wasParked: false)
    return verdict == .billable ? .accepted : .free(verdict)
  }

  /// What a click is worth whose impression is known. The reasons stand in the order in which they prevail: what cannot
  /// be (B8), what the tap itself says, then M5, then M4, and the client's limits last.
  private func judge(
    _ click: ParkedClick, of serve: ServeClicks, shownAt: Timestamp, in draft: ClickDraft
  ) -> ClickVerdict {
    let timing = windows.tapTiming(impressionAt: shownAt, tapAt: click.eventTime)
    if timing == .impossible { return .impossible }
    if click.isAccidental { return .accidental }
    switch timing {
    case .impossible: return .impossible
    case .tooEarly: return .tooEarly
    case .tooLate: return .tooLate
    case .inTime: break
    }
    if serve.hasBillable { return .repeat }
    let counted = draft.known.counted[click.terms.clientHash] ?? []
    return windows.clickLimitReached(at: click.eventTime, counted: counted) == nil ? .billable : .limited
  }

  /// The impression has come: what waited for it is decided.
  private mutating func decide(_ impression: AcceptedImpression, at index: Int, in draft: inout ClickDraft) {
    let id = impression.terms.serveID
    guard impression.terms.partition == draft.context.partition else {
      draft.decision.reject(
        index, .invalidInternal, "the impression belongs to partition \(impression.terms.partition)")
      return
    }
    draft.decision.effects.impressions.append(.init(serveID: id, shownAt: impression.eventTime))
    // A serve that nobody asked for has no clicks in this batch and none parked.
    guard draft.known.serves[id] != nil || parked[id] != nil else { return }
    draft.known.serves[id, default: ServeClicks()].shownAt = impression.eventTime
    for click in release(id, in: &draft) {
      let verdict = judge(
        click, of: draft.known.serves[id] ?? ServeClicks(), shownAt: impression.eventTime, in: draft)
      draft.record(click, verdict, wasParked: true)
    }
  }

  /// The signed partition decides, so nothing can loop.
  private func forward(_ event: ActionEvent, at index: Int, in draft: inout ClickDraft) {
    guard (0..<draft.context.partitionCount).contains(event.terms.partition) else {
      draft.decision.reject(index, .unknownPartition, "the token names partition \(event.terms.partition)")
      return
    }
    draft.decision.outcomes[index] = .forwarded
    draft.decision.forwards.append(
      .init(record: index, topic: Topic.clicks.name, partition: event.terms.partition, headers: []))
  }

  // MARK: Parking

  private mutating func park(_ serve: ServeID, expiresAt: Timestamp) {
    journal.append((serve, parked[serve]))
    parked[serve] = expiresAt
    earliestExpiry = min(earliestExpiry, expiresAt)
  }

  /// Takes a serve's parked clicks out, in the order in which they came.
  private mutating func release(_ serve: ServeID, in draft: inout ClickDraft) -> [ParkedClick] {
    let clicks = draft.known.serves[serve]?.parked ?? []
    draft.known.serves[serve]?.parked = []
    draft.decision.effects.parked[serve] = nil
    if clicks.contains(where: { $0.batchNumber != draft.context.batchNumber }) {
      draft.decision.effects.released.append(serve)
    }
    journal.append((serve, parked.removeValue(forKey: serve)))
    return clicks.sorted { ($0.batchNumber, $0.offset) < ($1.batchNumber, $1.offset) }
  }

  /// The parked clicks of these serves end without an impression (M5).
  private mutating func giveUp(_ serves: [ServeID], in draft: inout ClickDraft) {
    for serve in serves {
      for click in release(serve, in: &draft) { draft.record(click, .noImpression, wasParked: true) }
    }
    earliestExpiry = parked.values.min() ?? Timestamp(milliseconds: .max)
  }

  package mutating func revert() -> Bool {
    for change in journal.reversed() {
      parked[change.serve] = change.before
      if let expiresAt = change.before { earliestExpiry = min(earliestExpiry, expiresAt) }
    }
    journal.removeAll()
    return true
  }
}
