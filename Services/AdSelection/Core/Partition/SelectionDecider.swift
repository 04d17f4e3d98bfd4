internal import AdCore
internal import AdEvents
package import Pipeline
internal import Records

/// Decides the requests of one partition, and keeps its allotments: asks for them, sells from them, closes them.
///
/// Grants and reports follow from the tables; a decision is a fact, read back and never made again.
package struct SelectionDecider: PartitionDecider {
  package typealias Service = AdSelection

  private let catalog: CatalogSource
  private let settings: SelectionSettings
  private let crypto: SelectionCrypto
  /// Makes serve ids that nobody can guess.
  private var random: any RandomNumberGenerator
  private var keyless = KeylessLimit()
  private var forwardLimit: ForwardLimit
  package private(set) var state: PartitionState

  /// - Parameter memory: what the partitions of a process share.
  package init(
    stored: StoredState, catalog: CatalogSource, settings: SelectionSettings, crypto: SelectionCrypto,
    random: any RandomNumberGenerator, memory: SelectionMemory = SelectionMemory()
  ) {
    self.catalog = catalog
    self.settings = settings
    self.crypto = crypto
    self.random = random
    forwardLimit = ForwardLimit(sharing: memory.forwards)
    state = PartitionState(
      restoring: stored, throttle: settings.throttle, allotments: settings.allotments, memory: memory)
  }

  /// The state is all in memory; what requests that come again were answered with is in its rows.
  package func query(for records: [InputRecord<SelectionInput>], context: BatchContext) -> SelectionQuery? {
    var query = SelectionQuery()
    let snapshot = catalog.view(at: context.now).snapshot
    for record in records {
      guard case .request(let incoming) = record.event,
        let id = earlierID(incoming, arrival: max(record.arrival, context.committedWatermark), snapshot, context)
      else { continue }
      query.ids.insert(id)
    }
    return query.ids.isEmpty ? nil : query
  }

  private func earlierID(
    _ incoming: IncomingRequest, arrival: Timestamp, _ snapshot: CatalogSnapshot, _ context: BatchContext
  ) -> ServeID? {
    let request = withoutMinor(incoming, arrival: arrival, snapshot)
    return state.recent.id(
      of: request.legible.requestID, client: request.clientHash, now: min(arrival, context.now))
  }

  package mutating func decide(
    _ records: [InputRecord<SelectionInput>], knowing knowledge: SelectionKnowledge?, context: BatchContext
  ) -> BatchDecision<SelectionEffects> {
    var batch = BatchDecision(
      outcomes: Array(repeating: Outcome.noted, count: records.count), effects: SelectionEffects())
    forwardLimit.begin()
    state.testSequence.keepToQuota()
    state.requests.keepToQuota()
    // Here and not in the decider, where it would lie until the next batch, with tokens' terms and images.
    var earlier = EarlierDecisions(knowledge)
    let view = catalog.view(at: context.now)
    var decisionContext = DecisionContext(
      snapshot: view.snapshot, freshness: view.freshness, now: context.now, seed: settings.seed,
      serveIDRandom: (high: 0, low: 0), windows: settings.windows)
    decisionContext.appRequestsMaximum = settings.appRequestsPerHour.part(of: context.partitionCount)
    for (index, record) in records.enumerated() {
      switch record.event {
      case .rejected(let rejection): batch.reject(index, rejection.reason, rejection.detail)
      case .watermark: break
      case .grant(let grant): take(grant, at: index, context: context, into: &batch)
      case .refusal(let refusal): state.allotments.apply(refusal, now: context.now)
      case .request(let incoming):
        decisionContext.serveIDRandom = (high: random.next(), low: random.next())
        let arrival = max(record.arrival, context.committedWatermark)
        decisionContext.earlier = earlierID(incoming, arrival: arrival, view.snapshot, context).flatMap {
          earlier.find($0, in: batch.effects.decisions)
        }
        decide(
          incoming, at: index, arrival: arrival, decisionContext: decisionContext, context: context, into: &batch)
      }
    }
    // Nothing was read: a timer's batch.
    if records.isEmpty, context.timer.maximum > 0 { keepAllotments(view, context: context, into: &batch) }
    return batch
  }

  package mutating func committed(_ result: CommitResult) -> [OutgoingMessage] {
    forwardLimit.committed()
    return []
  }

  // MARK: Requests

  private mutating func decide(
    _ incoming: IncomingRequest, at index: Int, arrival: Timestamp, decisionContext: DecisionContext,
    context: BatchContext, into batch: inout BatchDecision<SelectionEffects>
  ) {
    if let partition = otherPartition(of: incoming, arrival: arrival, context: context),
      KeyAdmission.judge(incoming.appKeyHash, of: incoming.reply.app, snapshot: decisionContext.snapshot).isAdmitted
    {
      forward(incoming, at: index, to: partition, context: context, into: &batch)
      return
    }
    let address = incoming.reply
    let request = withoutMinor(incoming, arrival: arrival, decisionContext.snapshot).with(
      address.mistake(partitionCount: context.partitionCount))
    if case .mistaken(_, let rejection) = request.content {
      batch.reject(index, rejection.reason, rejection.detail)
    } else if context.isRefused {
      batch.outcomes[index] = .refused(.unknown)
    }
    if context.isRefused {
      let answer = Answer.error(.unknown, detail: "the decision could not be stored")
      send(answer, to: address, decisionContext, context, into: &batch)
      return
    }
    var asked = request.asked(partition: context.partition, arrival: arrival)
    let decision = RequestDecision.decide(request, asked: asked, state: &state, context: decisionContext)
    if case .sound = request.content { batch.outcomes[index] = Outcome(decision.outcome) }
    if decision.reason.isWithoutAppKey {
      guard keyless.admit(decisionContext.snapshot.apps[asked.app]?.app.id, now: context.now) else {
        batch.effects.keylessBeyondLimit += 1
        return
      }
    } else {
      asked.placement = decision.placement
    }
    if let answer = decision.answer { send(answer, to: address, decisionContext, context, into: &batch) }
    guard decision.reason != .duplicate else { return }
    if decision.reason.isWithoutAppKey, !keyless.keep(now: context.now) {
      batch.effects.keylessBeyondLimit += 1
      return
    }
    let decided = DecidedRequest(
      id: decisionContext.serveID, asked: asked, decision: decision, outcome: batch.outcomes[index],
      index: Int32(truncatingIfNeeded: index))
    batch.effects.add(decided)
  }

  /// Of an app for users under 17, or of which nobody has said so yet, nothing is taken that is its user's (A4, A8). It is
  /// decided where its client id put it.
  private func withoutMinor(
    _ incoming: IncomingRequest, arrival: Timestamp, _ snapshot: CatalogSnapshot
  ) -> IncomingRequest {
    guard let app = snapshot.apps[incoming.app], !app.takesUserData else { return incoming }
    return incoming.withoutUser(
      sessionHash: crypto.clients.hash(
        app: incoming.app, clientID: "", sessionID: incoming.legible.sessionID, now: arrival))
  }

  /// The partition that must decide the request where it is not this one. One that was forwarded here under our mark is
  /// decided here, whatever the partition count is by now, so nothing can loop.
  private func otherPartition(of incoming: IncomingRequest, arrival: Timestamp, context: BatchContext) -> Int32? {
    guard let partition = incoming.partition(count: context.partitionCount), partition != context.partition else {
      return nil
    }
    let isForwarded =
      !incoming.mark.isEmpty
      && incoming.mark.withUnsafeBytes { mark in
        incoming.payload.withUnsafeBytes { payload in
          crypto.forwarding.verifies(mark, payload: payload, partition: context.partition, now: arrival)
        }
      }
    return isForwarded ? nil : partition
  }

  /// What has no key of its app is of no client either, and is refused where it lies.
  private mutating func forward(
    _ incoming: IncomingRequest, at index: Int, to partition: Int32, context: BatchContext,
    into batch: inout BatchDecision<SelectionEffects>
  ) {
    guard forwardLimit.admit(incoming.reply.requestID) else {
      batch.reject(index, .forwardedTooOften, "it was sent on too often already: write to partition \(partition)")
      return
    }
    let mark = incoming.payload.withUnsafeBytes {
      crypto.forwarding.mark(payload: $0, partition: partition, now: context.now)
    }
    batch.outcomes[index] = .forwarded
    batch.forwards.append(
      .init(
        record: index, topic: Topic.requests.name, partition: partition,
        headers: [RecordHeader("handbill_forwarded", mark)]))
  }

  /// An app that is not registered has no topic for answers: it gets none, so nobody can make us write to topics of any
  /// name.
  private func send(
    _ answer: Answer, to address: ReplyAddress, _ decisionContext: DecisionContext, _ context: BatchContext,
    into batch: inout BatchDecision<SelectionEffects>
  ) {
    guard let app = decisionContext.snapshot.apps[address.app] else { return }
    let outcome: AdResponse.Outcome =
      switch answer {
      // The same terms give the same token: a duplicate's answer is the first one's.
      case .ad(let serve):
        .ad(
          serve.servedAd(
            token: crypto.issuer.issue(serve.terms), pacing: settings.pacing,
            // What a minor does in one app nobody follows into another (A4, A8).
            references: app.takesUserData ? crypto.references : nil,
            countsBySession: address.hasClientID && !app.takesUserData))
      case .error(let error, let detail): .error(error, detail: detail)
      }
    batch.answers.append(
      AnswerMaker.message(
        outcome, to: address, partition: address.answerPartition(of: context.partitionCount), now: context.now))
  }

  // MARK: Allotments

  private mutating func take(
    _ grant: AllotmentGrant, at index: Int, context: BatchContext,
    into batch: inout BatchDecision<SelectionEffects>
  ) {
    if context.isRefused {
      batch.reject(index, .refusedByDatabase, "the database refused this allotment")
      return
    }
    switch state.allotments.apply(grant) {
    case .opened(let row):
      batch.effects.opened.append(.init(row: row, index: Int32(truncatingIfNeeded: index)))
      batch.outcomes[index] = .accepted
    case .known: batch.outcomes[index] = .duplicate
    case .invalid: batch.reject(index, .invalidInternal, "an allotment of no amount")
    }
  }

  /// Closes what has reached its end, and asks for what is running out.
  private mutating func keepAllotments(
    _ view: CatalogSource.View, context: BatchContext, into batch: inout BatchDecision<SelectionEffects>
  ) {
    for row in state.allotments.close(now: context.now) {
      guard let report = AllotmentBook.report(of: row) else { continue }
      let sequence = context.nextSequences[AdSelection.usageOutput] + Int64(batch.effects.closed.count)
      batch.effects.closed.append(.init(row: row, sequence: sequence))
      batch.messages.append(
        NumberedMessage(
          output: AdSelection.usageOutput, sequence: sequence,
          message: AdSelection.message(
            report, campaign: row.campaign, sequence: sequence, partition: context.partition)))
    }
    guard view.freshness == .complete else { return }
    for ask in state.allotments.asks(for: catalog.wants, now: context.now) {
      batch.answers.append(AdSelection.message(ask, partition: context.partition, now: context.now))
    }
  }

  package func isTimerDue(_ context: BatchContext) -> Bool {
    if state.allotments.isCloseDue(now: context.now) { return true }
    guard catalog.state(at: context.now) == .complete else { return false }
    return state.allotments.isAskDue(for: catalog.wants, now: context.now)
  }
}

extension SelectionEffects {
  /// Adds a decision with what it uses.
  mutating func add(_ decided: DecidedRequest) {
    decisions.append(decided)
    if let reservation = decided.serve?.reservation { used[reservation.allotment] = reservation.usedAfterwards }
  }
}

extension Outcome {
  /// The byte that a batch keeps for a request.
  init(_ outcome: DecisionOutcome) {
    switch outcome {
    case .served: self = .accepted
    case .noAd(let error, _): self = .refused(error)
    case .refused: self = .refused(.configurationError)
    case .duplicate: self = .duplicate
    case .expiredDeadline: self = .pastDeadline
    }
  }
}
