internal import AdCore
internal import AdEvents
internal import Crypto

/// A batch that is decided and not committed: the decider's state is as if it were.
struct DecidedBatch<Service: PipelineService> {
  let commit: CommitBatch<Service>
  let decision: BatchDecision<Service.Effects>
  let draft: BatchDraft<Service.Event>
  let limitBefore: RejectionLimit
}

extension PartitionPipeline {
  /// Decides and commits a batch, then publishes what it made.
  ///
  /// A batch about which the tables may know more than has room, or that moves over very many offsets, is decided in
  /// parts. One that the database refuses is bisected until the refused record stands alone; that one is put aside. Ids
  /// that exist already are looked up, and the batch is decided again.
  package func process(_ batch: InputBatch<Service.Event>) throws(PipelineError) -> BatchSummary {
    var summary = BatchSummary()
    let batch = try checked(batch)
    var rest = batch.records[...]
    var isLast = false
    repeat {
      let part = nextPart(rest, of: batch)
      rest = rest[part.records.endIndex...]
      isLast = rest.isEmpty && part.end == batch.nextOffsets
      try process(part.records, of: batch, end: part.end, into: &summary)
    } while !isLast
    return summary
  }

  /// The batch in the order in which it is decided.
  func checked(_ batch: InputBatch<Service.Event>) throws(PipelineError) -> InputBatch<Service.Event> {
    try checkMarks(of: batch)
    return batch.ordered(by: service.inputs)
  }

  private func process(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, end: [Int64?],
    refusal: String? = nil, into summary: inout BatchSummary
  ) throws(PipelineError) {
    var found = try attempt(records, of: batch, end: end, refusal: refusal, into: &summary)
    if found == .duplicate {
      summary.duplicateRounds += 1
      found = try attempt(
        records, of: batch, end: end, refusal: refusal, isSuspected: true, into: &summary)
    }
    let detail: String
    switch found {
    case nil: return
    case .duplicate: detail = "an id exists although it was looked up"
    case .refused(let text): detail = text
    }
    try bisect(records, of: batch, end: end, wasRefused: refusal != nil, detail: detail, into: &summary)
  }

  private func bisect(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, end: [Int64?],
    wasRefused: Bool, detail: String, into summary: inout BatchSummary
  ) throws(PipelineError) {
    guard !wasRefused, !records.isEmpty else {
      throw .invariantBroken("the database refuses a batch that has nothing left to leave out: \(detail)")
    }
    summary.bisections += 1
    if records.count == 1 {
      try process(records, of: batch, end: end, refusal: detail, into: &summary)
      return
    }
    let middle = records.startIndex + records.count / 2
    try process(records[..<middle], of: batch, end: batch.nowhere, into: &summary)
    try process(records[middle...], of: batch, end: end, into: &summary)
  }

  /// One transaction for `records`. On an error nothing was committed and the state is as before; so it is when the
  /// database refuses the rows, which comes back.
  ///
  /// - Parameter end: up to which offset of each input nothing follows the records; nil: the input ends with them.
  func attempt(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, end: [Int64?],
    refusal: String? = nil, isSuspected: Bool = false, timer: TimerQuota = .nothing, into summary: inout BatchSummary
  ) throws(PipelineError) -> RowRefusal? {
    let decided = try decide(
      records, of: batch, end: end, refusal: refusal, isSuspected: isSuspected, timer: timer)
    guard let decided else { return nil }
    let result: Result<[CommitResult], RowRefusal>
    do throws(PipelineError) {
      result = try store.commit([decided.commit])
    } catch {
      try takeBack(decided)
      throw error
    }
    switch result {
    case .success(let results):
      finish(decided, results[0], summary: &summary)
      return nil
    case .failure(let refusal):
      try takeBack(decided)
      return refusal
    }
  }

  /// Decides `records`; nil where there is nothing to commit. What follows is ``finish(_:_:summary:)``, or ``takeBack(_:)``.
  func decide(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, end: [Int64?],
    refusal: String? = nil, isSuspected: Bool = false, timer: TimerQuota = .nothing
  ) throws(PipelineError) -> DecidedBatch<Service>? {
    var draft = try draft(records, of: batch, end: end)
    // Of a run that was bisected only events that are known: there is nothing to commit before its end.
    if !records.isEmpty, draft.admitted.isEmpty, draft.positions == inputs { return nil }
    let context = context(
      number: batchNumber + 1, gates: draft.gates, lastArrivals: draft.lastArrivals, refusal: refusal,
      isDuplicateSuspected: isSuspected, timer: timer)
    let limitBefore = rejectionLimit
    // The decider changes where it stands: while a second copy of it lived, each change would copy the whole state.
    var knowledge: Service.Knowledge?
    if let query = decider?.query(for: draft.admitted, context: context) {
      knowledge = try store.lookUp(query, partition: partition)
    }
    guard var decision = decider?.decide(draft.admitted, knowing: knowledge, context: context) else { throw .notOpen }
    decision.refuseLargeForwards(of: draft.admitted)
    let commit = commitBatch(draft: &draft, decision: decision, batch: batch, context: context)
    return DecidedBatch(commit: commit, decision: decision, draft: draft, limitBefore: limitBefore)
  }

  /// The state is as before the batch, which was not committed.
  func takeBack(_ decided: DecidedBatch<Service>) throws(PipelineError) {
    rejectionLimit = decided.limitBefore
    if decider?.revert() != true { try reloadDecider() }
  }

  private func draft(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, end: [Int64?]
  ) throws(PipelineError) -> BatchDraft<Service.Event> {
    var draft = BatchDraft<Service.Event>(
      heads: batch.heads[records.indices], positions: inputs, gates: gates, lastArrivals: lastArrivals,
      standings: batch.marks.map(history.standing))
    for head in draft.heads {
      guard head.identity.offset >= draft.positions[head.input].nextOffset else {
        throw .invariantBroken(
          "\(service.inputs[head.input].topic)[\(partition)]: offset \(head.identity.offset) was read at the position "
            + "\(draft.positions[head.input].nextOffset)")
      }
      // A record never counts as earlier than what was already said to be decided.
      draft.pass(head, arrival: max(head.arrival, watermark))
    }
    draft.admit(records, areSequenced: service.inputs.contains(where: \.isSequenced))
    draft.skip(to: end)
    return draft
  }

  private func commitBatch(
    draft: inout BatchDraft<Service.Event>, decision: BatchDecision<Service.Effects>, batch: InputBatch<Service.Event>,
    context: BatchContext
  ) -> CommitBatch<Service> {
    draft.decided(decision.outcomes)
    var entries: [OutboxEntry] = []
    var rejected: [RejectedRecord] = []
    for forward in decision.forwards {
      entries.append(
        forwardEntry(forward, record: draft.admitted[forward.record], raw: batch.raw, count: entries.count))
    }
    for rejection in decision.rejections {
      let record = draft.admitted[rejection.record]
      guard let row = rejectedRecord(rejection, record: record, raw: batch.raw, now: context.now) else { continue }
      rejected.append(row)
      entries.append(rejectionEntry(row, reason: rejection.reason, count: entries.count))
    }
    return CommitBatch(
      partition: partition, epoch: epoch, number: context.batchNumber, committedAt: context.now,
      inputs: inputs.indices.map {
        InputCommit(firstOffset: inputs[$0].nextOffset, position: draft.positions[$0])
      },
      outputs: outputCommits(adding: decision.messages),
      watermark: context.watermark, outcomes: draft.outcomeBytes(from: inputs), arrivals: draft.arrivals,
      effects: decision.effects,
      rejections: rejected, rejectedNotKept: Int64(decision.rejections.count - rejected.count), outbox: entries,
      deliveredOutbox: outbox?.delivered ?? [],
      gapRequests: gapRequests(&draft.gates, now: context.now), lost: [], lostSequences: lostSequences)
  }

  /// The outputs as they are with `messages`, in the order of their sequences.
  func outputCommits(adding messages: [NumberedMessage]) -> [OutputCommit] {
    var next = cursors.map(\.next)
    for message in messages { next[message.output] = message.sequence + 1 }
    return cursors.indices.map {
      OutputCommit(
        firstSequence: cursors[$0].next,
        position: OutputPosition(nextSequence: next[$0], confirmedSequence: cursors[$0].delivered))
    }
  }

  func gapRequests(_ gates: inout [SequenceGate], now: Timestamp) -> [GapRequest] {
    gates.indices.compactMap { input in
      gates[input].gapRequest(now: now).map { GapRequest(input: input, sequence: $0) }
    }
  }

  /// After the commit: the state is what was committed, and its messages go out.
  func finish(_ decided: DecidedBatch<Service>, _ result: CommitResult, summary: inout BatchSummary) {
    let (commit, draft) = (decided.commit, decided.draft)
    let answers = decided.decision.answers + (decider?.committed(result) ?? [])
    batchNumber = commit.number
    watermark = commit.watermark
    inputs = commit.inputs.map(\.position)
    gates = draft.gates
    lastArrivals = draft.lastArrivals
    outbox?.delivered.removeAll()
    lostSequences.removeAll()
    for output in cursors.indices {
      cursors[output].checkpointed(confirmed: commit.outputs[output].position.confirmedSequence)
      cursors[output].committed(next: commit.outputs[output].position.nextSequence)
    }
    for message in result.messages { cursors[message.output].committed(next: message.sequence + 1) }
    count(commit)
    summary.count(draft.outcomes)
    for answer in answers { sendUnreceipted(answer) }
    publish(decided.decision.messages)
    publish(result.messages)
    if let last = commit.outbox.last { outboxID = last.id }
    sendOutbox(commit.outbox)
  }
}
