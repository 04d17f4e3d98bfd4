package import AdCore
internal import AdEvents
package import Pipeline

/// Decides which impressions count: one for each served ad (M4), inside its life (I1), whatever the client sends.
package struct ImpressionDecider: PartitionDecider {
  package typealias Service = ImpressionTracking

  /// For how many batches older ids are looked up once one of them was found twice.
  static let suspicionBatches = 1_000

  private let windows: Windows
  /// The ads that were drawn or seen lately, each labelled with which of both. Only ids that we signed get in here.
  private var shown: RecentIDs
  /// Whatever else was taken lately. Apart, so that nobody who invents failures has the others forgotten.
  private var others: RecentIDs
  private var suspicion = 0
  private var forwardLimit: ForwardLimit
  /// The ids of the batch that no key would refuse: those that were remembered before it began, and those that it has taken.
  /// Of those nothing was asked, and taking others may have them forgotten.
  private var packed: Set<ServeID> = []
  /// What the last decision put into the tables, to take it out again.
  private var undoLog: [TakenID] = []

  private enum TakenID {
    case event(RecordedKind, UUIDv7)
    case failure(AdError, UUIDv7)
  }

  /// - Parameter now: what had arrived by then, the database alone knows.
  /// - Parameter memory: what the process's partitions share.
  package init(windows: Windows, now: Timestamp, memory: ImpressionMemory = ImpressionMemory()) {
    self.windows = windows
    // Of what had arrived the tokens were issued no later than that (``EventTiming``).
    let horizon = now.advanced(byMilliseconds: windows.clockToleranceMilliseconds + 1)
    shown = RecentIDs(horizon: horizon, quota: memory.shown.quota())
    others = RecentIDs(horizon: horizon, quota: memory.others.quota())
    forwardLimit = ForwardLimit(sharing: memory.forwards)
  }

  package func query(
    for records: [InputRecord<ImpressionInput>], context: BatchContext
  ) -> ImpressionQuery? {
    let isSuspicious = suspicion > 0 || context.isDuplicateSuspected
    var query = ImpressionQuery()
    for record in records {
      switch record.event {
      case .event(let event):
        let (id, kind) = (event.terms.serveID, recordedKind(event))
        // Of one kind no key of the tables refuses a second one. What is rejected is not looked for: it may be of any day.
        guard isSuspicious || kind == ImpressionEffects.Delivery.packedKind,
          event.terms.partition == context.partition, case .at = timing(of: event, record, context),
          isUncertain(id, kind, context)
        else { continue }
        if kind == .viewed {
          query.ids.impressions.insert(id)
        } else {
          query.ids.deliveries[kind, default: []].insert(id)
        }
      case .failure(let failure):
        query.keys.insert(failure.keyHash)
        // A client made this id, so its time proves nothing about its age.
        if isSuspicious { query.ids.failures[failure.error, default: []].insert(failure.requestID) }
      case .rejected:
        break
      }
    }
    return query.isEmpty ? nil : query
  }

  private func isUncertain(_ id: ServeID, _ kind: RecordedKind, _ context: BatchContext) -> Bool {
    // Once an id was found twice, the horizon proves nothing either: a clock may be further off than it may.
    let isNew = !context.isDuplicateSuspected && (isOfShown(kind) ? shown : others).isComplete(for: id)
    return !isNew && !isRemembered(id, as: kind)
  }

  private func isRemembered(_ id: ServeID, as kind: RecordedKind) -> Bool {
    (isOfShown(kind) ? shown : others).contains(id, label: label(kind))
  }

  private func isOfShown(_ kind: RecordedKind) -> Bool {
    kind == .viewed || kind == ImpressionEffects.Delivery.packedKind
  }

  private func timing(
    of event: ServedEvent, _ record: InputRecord<ImpressionInput>, _ context: BatchContext
  ) -> EventTiming {
    let age: Int64? = if case .milliseconds(let age) = event.age { age } else { nil }
    return EventTiming.judge(
      .impression, terms: event.terms, ageMilliseconds: age, claimedTime: event.claimedTime,
      arrival: arrival(of: record, context), windows: windows)
  }

  private func arrival(of record: InputRecord<ImpressionInput>, _ context: BatchContext) -> Timestamp {
    max(record.arrival, context.committedWatermark)
  }

  private func label(_ kind: RecordedKind) -> UInt8 { kind.rawValue }

  /// Above those of kinds.
  private func label(_ error: AdError) -> UInt8 { 16 + error.rawValue }

  package mutating func decide(
    _ records: [InputRecord<ImpressionInput>], knowing knowledge: ImpressionKnowledge?, context: BatchContext
  ) -> BatchDecision<ImpressionEffects> {
    undoLog.empty()
    forwardLimit.begin()
    packed = packedIDs(of: records)
    shown.keepToQuota()
    others.keepToQuota()
    suspicion = context.isDuplicateSuspected ? Self.suspicionBatches : max(0, suspicion - 1)
    var decision = BatchDecision(
      outcomes: Array(repeating: .accepted, count: records.count), effects: ImpressionEffects())
    let known = knowledge ?? ImpressionKnowledge()
    for (index, record) in records.enumerated() {
      if context.isRefused {
        decision.reject(index, .refusedByDatabase, "the database refused this record")
        continue
      }
      switch record.event {
      case .rejected(let rejection):
        decision.reject(index, rejection.reason, rejection.detail)
      case .failure(let failure):
        decide(failure, at: index, arrival: arrival(of: record, context), known: known, into: &decision)
      case .event(let event):
        decide(event, of: record, at: index, known: known.ids, context: context, into: &decision)
      }
    }
    decision.messages = ImpressionTracking.messages(
      decision.effects.impressions.lazy.map { ($0.sequence, $0.accepted) })
    return decision
  }

  private mutating func decide(
    _ event: ServedEvent, of record: InputRecord<ImpressionInput>, at index: Int, known: ImpressionIDs,
    context: BatchContext, into decision: inout BatchDecision<ImpressionEffects>
  ) {
    let terms = event.terms
    guard terms.partition == context.partition else {
      let place = SignedPlace(terms, kind: recordedKind(event).rawValue)
      decision.forward(index, of: .impressions, to: place, in: context, within: &forwardLimit)
      return
    }
    let timing = timing(of: event, record, context)
    guard case .at(let time) = timing else {
      let (reason, detail) = timing.rejection
      decision.reject(index, reason, detail)
      return
    }
    let kind = recordedKind(event)
    let wasStored =
      kind == .viewed
      ? known.impressions.contains(terms.serveID) : known.deliveries[kind]?.contains(terms.serveID) ?? false
    guard !wasStored, take(terms.serveID, as: kind) else {
      decision.outcomes[index] = .duplicate
      return
    }
    undoLog.append(.event(kind, terms.serveID))
    if kind == .viewed {
      let accepted = AcceptedImpression(terms: terms, eventTime: time, arrival: arrival(of: record, context))
      let sequence = context.nextSequences[0] + Int64(decision.effects.impressions.count)
      decision.effects.impressions.append(.init(sequence: sequence, accepted: accepted))
    } else {
      decision.effects.deliveries.append(.init(kind: kind, terms: terms, eventTime: time, error: event.error))
      if kind == .viewedTooSoon { decision.outcomes[index] = .impossible }
    }
  }

  /// False when it was taken already.
  private mutating func take(_ id: ServeID, as kind: RecordedKind) -> Bool {
    if kind == ImpressionEffects.Delivery.packedKind, !packed.insert(id).inserted { return false }
    return isOfShown(kind) ? shown.insert(id, label: label(kind)) : others.insert(id, label: label(kind))
  }

  private func packedIDs(of records: [InputRecord<ImpressionInput>]) -> Set<ServeID> {
    let kind = ImpressionEffects.Delivery.packedKind
    var ids: Set<ServeID> = []
    for record in records {
      guard case .event(let event) = record.event, recordedKind(event) == kind,
        isRemembered(event.terms.serveID, as: kind)
      else { continue }
      ids.insert(event.terms.serveID)
    }
    return ids
  }

  /// Each event is judged by what it says itself, and not by others of its ad: so the order in which they come changes
  /// nothing, and a second, possible view of the same ad still counts.
  private func recordedKind(_ event: ServedEvent) -> RecordedKind {
    guard event.kind == .viewed, case .milliseconds(let age) = event.age, windows.isImpossibleView(ageMilliseconds: age)
    else { return RecordedKind(event.kind) }
    return .viewedTooSoon
  }

  private mutating func decide(
    _ failure: RequestFailure, at index: Int, arrival: Timestamp, known: ImpressionKnowledge,
    into decision: inout BatchDecision<ImpressionEffects>
  ) {
    let age = arrival.milliseconds(since: failure.requestID.timestamp)
    guard abs(age) <= windows.issuedBeforeArrivalMilliseconds else {
      decision.reject(index, .invalidField, "the request id was made more than 26 h from its arrival")
      return
    }
    guard let key = known.keys[failure.keyHash], key.app == failure.app, !key.isRevoked else {
      decision.reject(index, .appKeyWrong, "A1: the app key is unknown, revoked, or not that of app \(failure.app)")
      return
    }
    let wasStored = known.ids.failures[failure.error]?.contains(failure.requestID) ?? false
    guard !wasStored, others.insert(failure.requestID, label: label(failure.error)) else {
      decision.outcomes[index] = .duplicate
      return
    }
    undoLog.append(.failure(failure.error, failure.requestID))
    decision.effects.failures.append(
      .init(failure: failure, arrival: arrival, isTest: key.build != .distribution))
  }

  package mutating func committed(_ result: CommitResult) -> [OutgoingMessage] {
    undoLog.empty()
    forwardLimit.committed()
    return []
  }

  package mutating func revert() -> Bool {
    for id in undoLog {
      switch id {
      case .event(let kind, let id) where isOfShown(kind): shown.remove(id, label: label(kind))
      case .event(let kind, let id): others.remove(id, label: label(kind))
      case .failure(let error, let id): others.remove(id, label: label(error))
      }
    }
    undoLog.empty()
    forwardLimit.revert()
    return true
  }
}
