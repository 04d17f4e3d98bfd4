package import AdCore
internal import AdEvents
package import Pipeline

/// Decides which clicks count: one for each served ad (M4), with its impression (M5), within the limits, no accidents
/// (M7).
///
/// The verdicts are those of a world in which every view came first: each client's clicks are judged in the order in
/// which they came, and only those that are billable in that order weigh against its limits. A click whose view has not
/// come, or whose verdict depends on an earlier click that waits, is parked. When a view comes, or when the impressions'
/// watermark says that it will not, all of its client's clicks are decided that can be by now. So the verdicts are the
/// same in whatever order views and clicks come and however they are cut into batches (B8).
package struct ClickDecider: PartitionDecider {
  package typealias Service = ClickTracking

  /// Of how many clients' clicks one batch asks at most, and of how many ads' conversions. Somebody can have some
  /// hundred clicks of a client wait and a thousand judged, in all about a megabyte once they are read.
  package static let clientsMaximum = 32
  /// So that what waits in vain does not grow faster than it is given up.
  package static let timerBatchesMaximum = 32

  private let windows: Windows
  private var unseen: UnseenServes
  private var forwardLimit: ForwardLimit

  package init(windows: Windows, memory: ClickMemory = ClickMemory()) {
    self.windows = windows
    unseen = UnseenServes(quota: memory.serves.quota())
    forwardLimit = ForwardLimit(sharing: memory.forwards)
  }

  // MARK: Questions

  package func query(for records: [InputRecord<ClickInput>], context: BatchContext) -> ClickQuery? {
    guard !context.isRefused else { return nil }
    var query = ClickQuery()
    query.unseen = unseen.nextPage
    if records.isEmpty { query.expired = expiredServes(context) }
    for record in records {
      switch record.event {
      case .action(let event) where event.terms.partition == context.partition:
        query.identities.insert(event.identity)
        guard event.kind == .click else { continue }
        query.serves.insert(event.terms.serveID)
        query.ask(for: ClickClient(of: event.terms), at: clickTimes(of: event.terms))
      case .conversion(let told) where told.reference.partition == context.partition:
        query.converted.insert(told.reference.serveID)
        query.keys.insert(told.keyHash)
      case .impression(let impression) where unseen.mayWait(UnseenServe(of: impression.terms)):
        query.waitedFor.insert(impression.terms.serveID)
      case .impression, .action, .conversion, .watermark, .rejected: break
      }
    }
    return query.isEmpty ? nil : query
  }

  package func countTogether(_ records: ArraySlice<InputRecord<ClickInput>>) -> Int {
    var clients: Set<ClickClient> = []
    var converted: Set<ServeID> = []
    for (count, record) in records.enumerated() {
      switch record.event {
      case .action(let event) where event.kind == .click: clients.insert(ClickClient(of: event.terms))
      case .impression(let impression) where unseen.mayWait(UnseenServe(of: impression.terms)):
        clients.insert(ClickClient(of: impression.terms))
      case .conversion(let told): converted.insert(told.reference.serveID)
      case .action, .impression, .watermark, .rejected: break
      }
      if max(clients.count, converted.count) > Self.clientsMaximum { return count }
    }
    return records.count
  }

  /// When an ad can be clicked.
  private func clickTimes(of terms: ServedTerms) -> ClosedRange<Timestamp> {
    let last = terms.expiresAt.advanced(byMilliseconds: windows.tapDelayMilliseconds.upperBound)
    return terms.issuedAt...max(terms.issuedAt, last)
  }

  package func isTimerDue(_ context: BatchContext) -> Bool {
    unseen.nextPage != nil || unseen.isOverPart || unseen.earliestExpiry < expiredServes(context).before
  }

  /// The serves that the timer gives up. No impression of a token that expires before then can come any more: whatever
  /// arrived in time is decided.
  private func expiredServes(_ context: BatchContext) -> ExpiredServes {
    ExpiredServes(
      before: windows.expiry(
        ofLastImpressionBefore: context.consumedWatermarks[ClickTracking.impressionsInput]),
      skipped: context.timer.skipped, count: min(context.timer.maximum, Self.clientsMaximum))
  }

  // MARK: Decisions

  package mutating func decide(
    _ records: [InputRecord<ClickInput>], knowing knowledge: ClickKnowledge?, context: BatchContext
  ) -> BatchDecision<ClickEffects> {
    forwardLimit.begin()
    var draft = ClickDraft(recordCount: records.count, knowing: knowledge, context: context)
    unseen.begin()
    if let page = knowledge?.unseen { unseen.readOn(page) }
    if records.isEmpty, knowledge != nil { giveUp(expiredServes(context), in: &draft) }
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
      case .conversion(let told): decide(told, of: record, at: index, in: &draft)
      }
    }
    draft.decision.messages = ClickTracking.messages(
      draft.decision.effects.clicks.lazy.map { ($0.sequence, $0.accepted) })
    return draft.decision
  }

  private mutating func decide(
    _ event: ActionEvent, of record: InputRecord<ClickInput>, at index: Int, in draft: inout ClickDraft
  ) {
    let terms = event.terms
    guard terms.partition == draft.context.partition else {
      let place = SignedPlace(terms, kind: event.kind.rawValue)
      draft.decision.forward(index, of: .clicks, to: place, in: draft.context, within: &forwardLimit)
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
      return
    }
    let click = ParkedClick(
      terms: terms, idHash: event.idHash, eventTime: time, arrival: arrival,
      isAccidental: windows.isAccidental(
        actionMilliseconds: event.actionMilliseconds, leftApplication: event.leftApplication),
      position: ClickPosition(batchNumber: draft.context.batchNumber, offset: record.offset))
    draft.decision.outcomes[index] = decide(click, in: &draft)
  }

  /// Decides a click as soon as it can be.
  private mutating func decide(_ click: ParkedClick, in draft: inout ClickDraft) -> Outcome {
    let client = click.client
    if let verdict = draft.known.clients[client, default: ClientClicks()].refusal(of: click, windows: windows) {
      draft.record(click, verdict, isJudged: false, wasParked: false)
      return .free(verdict)
    }
    draft.known.clients[client, default: ClientClicks()].waiting.append(click)
    if let verdict = resolve(client, newest: click, in: &draft) {
      return verdict == .billable ? .accepted : .free(verdict)
    }
    draft.decision.effects.parked[click.identity] = click
    draft.clientsWaiting[click.terms.serveID] = client
    if draft.known.seenAt[click.terms.serveID] == nil { unseen.park(UnseenServe(of: click.terms)) }
    return .parked
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
    unseen.release(id)
    let client = draft.clientsWaiting[id]
    guard client != nil || draft.known.serves.contains(id) else { return }
    draft.known.seenAt[id] = impression.eventTime
    if let client { resolve(client, in: &draft) }
  }

  /// The views of these serves do not come (M5): their clicks end, and what waited for them is decided.
  private mutating func giveUp(_ asked: ExpiredServes, in draft: inout ClickDraft) {
    for serve in draft.known.expired {
      unseen.release(serve)
      guard let client = draft.clientsWaiting[serve] else { continue }
      for decided in draft.known.clients[client]?.giveUp(serve) ?? [] {
        draft.record(decided.click, decided.verdict, isJudged: true, wasParked: true)
      }
      resolve(client, in: &draft)
    }
    // None is left whose view may come: those that the database refuses stay until the partition is opened again, and what
    // else is remembered does not wait.
    if draft.known.expired.count < asked.count { unseen.release(before: asked.before) }
    unseen.updateEarliestExpiry()
  }

  /// Decides whatever of a client's clicks can be decided by now, in the order in which they came.
  ///
  /// - Parameter newest: The click whose record is being decided, the last of all.
  /// - Returns: the newest click's verdict; nil where it has to wait.
  @discardableResult
  private mutating func resolve(
    _ client: ClickClient, newest: ParkedClick? = nil, in draft: inout ClickDraft
  ) -> ClickVerdict? {
    let seenAt = draft.known.seenAt
    var verdict: ClickVerdict?
    for decided in draft.known.clients[client]?.resolve(seenAt: seenAt, windows: windows) ?? [] {
      let isNewest = decided.click.position == newest?.position
      draft.record(decided.click, decided.verdict, isJudged: true, wasParked: !isNewest)
      if isNewest { verdict = decided.verdict }
    }
    return verdict
  }

  // MARK: Conversions

  /// What a user did in an advertised app (M8): kept, once, within its time. Whether the ad's click counts is not asked
  /// here, since the click may still be on its way: whoever adds up conversions looks for it, in whatever order they came.
  private mutating func decide(
    _ told: ToldConversion, of record: InputRecord<ClickInput>, at index: Int, in draft: inout ClickDraft
  ) {
    let reference = told.reference
    let serve = reference.serveID
    guard reference.partition == draft.context.partition else {
      let place = SignedPlace(
        reference, kind: TapKind.converted.rawValue, maximum: Windows.conversionsMaximum)
      draft.decision.forward(index, of: .clicks, to: place, in: draft.context, within: &forwardLimit)
      return
    }
    let arrival = max(record.arrival, draft.context.committedWatermark)
    let time = min(max(told.claimedTime ?? arrival, serve.timestamp), arrival)
    if let refusal = refusal(of: told, eventTime: time, arrival: arrival, knowing: draft.known) {
      draft.decision.reject(index, refusal.reason, refusal.detail)
      return
    }
    guard let key = draft.known.keys[told.keyHash]?.key else { return }
    let subject = ConvertedAd(serveID: serve, isTest: key.build != .distribution)
    let known = draft.known.conversions[subject] ?? []
    guard !known.contains(told.identity) else {
      draft.decision.outcomes[index] = .duplicate
      return
    }
    guard known.count < Windows.conversionsMaximum else {
      draft.decision.reject(
        index, .tooManyConversions, "M8: \(Windows.conversionsMaximum) conversions of its click are kept")
      return
    }
    draft.known.conversions[subject, default: []].insert(told.identity)
    draft.decision.effects.conversions.append(
      .init(told: told, eventTime: time, arrival: arrival, app: key.app, isTest: subject.isTest))
  }

  /// Why it is not this app's to tell, or not any more; nil where it is.
  private func refusal(
    of told: ToldConversion, eventTime: Timestamp, arrival: Timestamp, knowing known: ClickKnowledge
  ) -> Rejection? {
    guard let found = known.keys[told.keyHash], !found.key.isRevoked, told.reference.isFor(found.key.app) else {
      return Rejection(.appKeyWrong, "A1, M8: the app key is unknown, revoked, or not of the app that the ad is for")
    }
    guard !found.isUnder17 else { return Rejection(.consentMissing, "A4: users under 17 cannot agree") }
    let served = told.reference.serveID.timestamp
    guard windows.isInConversionWindow(servedAt: served, eventTime: eventTime, arrival: arrival) else {
      return Rejection(
        .conversionTooLate,
        "M8: its ad was served at \(served.utcText) and it was done at \(eventTime.utcText): too late, or told too late"
      )
    }
    return nil
  }

  package mutating func committed(_ result: CommitResult) -> [OutgoingMessage] {
    unseen.committed()
    forwardLimit.committed()
    return []
  }

  package mutating func revert() -> Bool {
    unseen.revert()
    forwardLimit.revert()
    return true
  }
}
