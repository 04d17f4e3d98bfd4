internal import AdCore
internal import AdEvents
internal import Crypto

extension PartitionPipeline {
  /// Decides and commits a batch, then publishes what it made.
  ///
  /// A batch that the database refuses is bisected until the refused record stands alone; that one is put aside. Ids that
  /// exist already are looked up, and the batch is decided again.
  package func process(_ batch: InputBatch<Service.Event>) throws(PipelineError) -> BatchSummary {
    var summary = BatchSummary()
    let batch = batch.ordered(by: service.inputs)
    try process(batch.records[...], of: batch, endsBatch: true, into: &summary)
    return summary
  }

  private func process(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, endsBatch: Bool,
    isRefused: Bool = false, into summary: inout BatchSummary
  ) throws(PipelineError) {
    var refusal = try attempt(records, of: batch, endsBatch: endsBatch, isRefused: isRefused, into: &summary)
    if refusal == .duplicate {
      summary.duplicateRounds += 1
      refusal = try attempt(
        records, of: batch, endsBatch: endsBatch, isRefused: isRefused, isSuspected: true, into: &summary)
    }
    let detail: String
    switch refusal {
    case nil: return
    case .duplicate: detail = "an id exists although it was looked up"
    case .refused(let text): detail = text
    }
    try bisect(records, of: batch, endsBatch: endsBatch, wasRefused: isRefused, detail: detail, into: &summary)
  }

  private func bisect(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, endsBatch: Bool,
    wasRefused: Bool, detail: String, into summary: inout BatchSummary
  ) throws(PipelineError) {
    guard !wasRefused, !records.isEmpty else {
      throw .invariantBroken("the database refuses a batch that has nothing left to leave out: \(detail)")
    }
    summary.bisections += 1
    if records.count == 1 {
      try process(records, of: batch, endsBatch: endsBatch, isRefused: true, into: &summary)
      return
    }
    let middle = records.startIndex + records.count / 2
    try process(records[..<middle], of: batch, endsBatch: false, into: &summary)
    try process(records[middle...], of: batch, endsBatch: endsBatch, into: &summary)
  }

  /// One transaction for `records`. On an error nothing was committed and the state is as before; so it is when the
  /// database refuses the rows, which comes back.
  func attempt(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, endsBatch: Bool,
    isRefused: Bool = false, isSuspected: Bool = false, timer: TimerShare = .nothing, into summary: inout BatchSummary
  ) throws(PipelineError) -> RowRefusal? {
    var draft = try draft(records, of: batch, endsBatch: endsBatch)
    let context = context(
      number: batchNumber + 1, gates: draft.gates, lastArrivals: draft.lastArrivals, isRefused: isRefused,
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
    let result: Result<CommitResult, RowRefusal>
    do throws(PipelineError) {
      result = try store.commit(commit)
    } catch {
      try revert(to: limitBefore)
      throw error
    }
    switch result {
    case .success(let result):
      decider?.committed(result)
      try finish(commit, decision: decision, result: result, draft: draft, summary: &summary)
      return nil
    case .failure(let refusal):
      try revert(to: limitBefore)
      return refusal
    }
  }

  /// The state is as before the batch, which was not committed.
  private func revert(to limit: RejectionLimit) throws(PipelineError) {
    rejectionLimit = limit
    if decider?.revert() != true { try reloadDecider() }
  }

  /// What stands before the service decides: which records are taken, where each input then stands.
  private struct Draft {
    var gates: [SequenceGate]
    var lastArrivals: [Timestamp?]
    var admitted: [InputRecord<Service.Event>]
    /// Index in `records` of each admitted record; nil when all are admitted.
    var admittedIndices: [Int]?
    /// One for each record.
    var outcomes: [Outcome]
    var heads: ArraySlice<RecordHead>
    var positions: [InputPosition]
    var arrivals: ClosedRange<Timestamp>?
  }

  private func draft(
    _ records: ArraySlice<InputRecord<Service.Event>>, of batch: InputBatch<Service.Event>, endsBatch: Bool
  ) throws(PipelineError) -> Draft {
    var draft = Draft(
      gates: gates, lastArrivals: lastArrivals, admitted: [], admittedIndices: nil,
      outcomes: Array(repeating: .absent, count: records.count), heads: batch.heads[records.indices],
      positions: inputs, arrivals: nil)
    let hasSequences = service.inputs.contains(where: \.isSequenced)
    var indices: [Int] = []
    for (index, head) in draft.heads.enumerated() {
      // A record never counts as earlier than what was already said to be decided.
      let arrival = max(head.arrival, watermark)
      guard head.identity.offset >= draft.positions[head.input].nextOffset else {
        throw .invariantBroken(
          "\(service.inputs[head.input].topic)[\(partition)]: offset \(head.identity.offset) was read at the position "
            + "\(draft.positions[head.input].nextOffset)")
      }
      draft.lastArrivals[head.input] = arrival
      draft.arrivals =
        draft.arrivals.map { min($0.lowerBound, arrival)...max($0.upperBound, arrival) } ?? arrival...arrival
      draft.positions[head.input].nextOffset = head.identity.offset + 1
      draft.positions[head.input].last = head.identity
      guard hasSequences else { continue }
      if let outcome = draft.gates[head.input].admit(head.mark) {
        draft.outcomes[index] = outcome
      } else {
        indices.append(index)
      }
    }
    if hasSequences, indices.count < records.count {
      draft.admitted = indices.map { records[records.startIndex + $0] }
      draft.admittedIndices = indices
    } else {
      draft.admitted = Array(records)
    }
    if endsBatch {
      for (input, next) in batch.nextOffsets.enumerated() {
        if let next { draft.positions[input].nextOffset = max(next, draft.positions[input].nextOffset) }
      }
    }
    for input in draft.positions.indices {
      draft.positions[input].consumedSequence = draft.gates[input].consumedSequence
      draft.positions[input].consumedWatermark = draft.gates[input].consumedWatermark
    }
    return draft
  }

  private func commitBatch(
    draft: inout Draft, decision: BatchDecision<Service.Effects>, batch: InputBatch<Service.Event>,
    context: BatchContext
  ) -> CommitBatch<Service> {
    if let indices = draft.admittedIndices {
      for (index, outcome) in zip(indices, decision.outcomes) { draft.outcomes[index] = outcome }
    } else {
      draft.outcomes = decision.outcomes
    }
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
        InputCommit(
          firstOffset: inputs[$0].nextOffset, position: draft.positions[$0],
          isChanged: !arePositionsWritten || draft.positions[$0] != inputs[$0])
      },
      outputs: outputCommits(adding: decision.messages),
      watermark: context.watermark, outcomes: outcomeBytes(draft), arrivals: draft.arrivals, effects: decision.effects,
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
        position: OutputPosition(nextSequence: next[$0], confirmedSequence: cursors[$0].delivered),
        isChanged: !arePositionsWritten || next[$0] != cursors[$0].next || cursors[$0].isCheckpointDue)
    }
  }

  /// One byte for each offset, input after input; offsets that no record had stay absent.
  private func outcomeBytes(_ draft: Draft) -> [UInt8] {
    var starts: [Int] = []
    var total = 0
    for input in inputs.indices {
      starts.append(total)
      total += Int(draft.positions[input].nextOffset - inputs[input].nextOffset)
    }
    var bytes = [UInt8](repeating: Outcome.absent.rawValue, count: total)
    for (index, head) in draft.heads.enumerated() {
      bytes[starts[head.input] + Int(head.identity.offset - inputs[head.input].nextOffset)] =
        draft.outcomes[index].rawValue
    }
    return bytes
  }

  func gapRequests(_ gates: inout [SequenceGate], now: Timestamp) -> [GapRequest] {
    gates.indices.compactMap { input in
      gates[input].notice(now: now).map { GapRequest(input: input, sequence: $0) }
    }
  }

  /// After the commit: the state is what was committed, and its messages go out.
  private func finish(
    _ commit: CommitBatch<Service>, decision: BatchDecision<Service.Effects>, result: CommitResult, draft: Draft,
    summary: inout BatchSummary
  ) throws(PipelineError) {
    batchNumber = commit.number
    arePositionsWritten = true
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
    for answer in decision.answers { sendUnreceipted(answer) }
    publish(decision.messages)
    publish(result.messages)
    if let last = commit.outbox.last { outboxID = last.id }
    sendOutbox(commit.outbox)
  }
}

/// What became of the records of one batch.
package struct BatchSummary: Sendable {
  package var batches = 0
  package var records = 0
  /// Per outcome byte: how many records had it.
  package var outcomes = [Int](repeating: 0, count: 256)
  /// Batches that were decided again because ids existed already.
  package var duplicateRounds = 0
  package var bisections = 0

  package init() {}

  mutating func count(_ outcomes: [Outcome]) {
    batches += 1
    records += outcomes.count
    for outcome in outcomes { self.outcomes[Int(outcome.rawValue)] += 1 }
  }
}
