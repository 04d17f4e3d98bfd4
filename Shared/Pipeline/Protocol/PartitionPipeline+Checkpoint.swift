internal import AdCore
internal import AdEvents

extension PartitionPipeline {
  /// Once a second: what timers make due, what consumers miss, what was delivered, the watermark.
  package func tick(
    timerBatchesMaximum: Int = Service.Decider.timerBatchesMaximum
  ) throws(PipelineError) -> BatchSummary {
    var summary = BatchSummary()
    for _ in 0..<timerBatchesMaximum { guard try runTimer(into: &summary) else { break } }
    flushCounts()
    let answered = try store.gapRequests(partition)
    for request in answered { cursors[request.output].rewind(to: request.sequence) }
    try checkpoint(answered: answered)
    try continueBacklog()
    publishWatermarks()
    return summary
  }

  /// A batch without records for what is due. What the database refuses is found by doing less and less at once, and is
  /// then passed over until the partition is opened again: it stays as it is, and the rest goes on.
  ///
  /// - Returns: whether something was done.
  private func runTimer(into summary: inout BatchSummary) throws(PipelineError) -> Bool {
    let due = context(number: batchNumber + 1, gates: gates, lastArrivals: lastArrivals, timer: timer.quota)
    guard due.now >= timer.restsUntil, decider?.isTimerDue(due) ?? false else { return false }
    let batch = InputBatch<Service.Event>(inputCount: inputs.count)
    while true {
      let detail: String
      switch try attempt(batch.records[...], of: batch, end: batch.nextOffsets, timer: timer.quota, into: &summary) {
      case nil:
        timer.succeeded()
        return true
      case .refused(let text): detail = text
      case .duplicate: detail = "a row of it exists already"
      }
      summary.bisections += 1
      guard timer.refused(now: due.now) else { continue }
      alarm(.timerRefused(detail: detail))
      return false
    }
  }

  private func checkpoint(answered: [ReceivedGapRequest]) throws(PipelineError) {
    let time = currentWatermark(gates: gates, lastArrivals: lastArrivals)
    let requests = gapRequests(&gates, now: clock.now)
    // Every batch stores the watermark and what was delivered: a busy partition does not wait for the disk once more.
    let isQuiet = batchNumber == batchNumberAtTick
    batchNumberAtTick = batchNumber
    let isDue =
      time.milliseconds(since: watermark) >= watermarkRest(isQuiet: isQuiet)
      || isQuiet && (outbox?.delivered.isEmpty == false || cursors.contains(where: \.isCheckpointDue))
    guard isDue || !answered.isEmpty || !requests.isEmpty || !lostSequences.isEmpty else { return }
    let confirmed = cursors.map(\.delivered)
    try store.save(
      Checkpoint(
        partition: partition, epoch: epoch, batchNumber: batchNumber, watermark: time, confirmed: confirmed,
        consumedWatermarks: gates.map(\.consumedWatermark), deliveredOutbox: outbox?.delivered ?? [],
        gapRequests: requests,
        answeredGapRequests: answered, lostSequences: lostSequences))
    watermark = time
    lostSequences.removeAll()
    outbox?.delivered.removeAll()
    for output in cursors.indices { cursors[output].checkpointed(confirmed: confirmed[output]) }
  }

  /// How far the watermark may lie behind before it is stored although nothing else is.
  private func watermarkRest(isQuiet: Bool) -> Int64 {
    if !service.publishesWatermarks { return PipelineLimits.watermarkRestMilliseconds }
    return isQuiet ? 1 : PipelineLimits.busyWatermarkRestMilliseconds
  }

  /// "Everything that arrived before T is decided, up to sequence n", after everything up to n was sent.
  private func publishWatermarks() {
    guard !isWriterDown else { return }
    for output in cursors.indices where !cursors[output].isBehind {
      let mark = Watermark(time: watermark, sequence: cursors[output].next - 1)
      guard let message = service.watermarkMessage(mark, output: output, partition: partition) else { continue }
      sendUnreceipted(message)
    }
  }

  /// Records that retention removed what was not read, and begins where the log begins now.
  func commitLost(_ lost: [LostRange]) throws(PipelineError) {
    let context = context(number: batchNumber + 1, gates: gates, lastArrivals: lastArrivals)
    guard let decision = decider?.decide([], knowing: nil, context: context) else { throw .notOpen }
    for range in lost { inputs[range.input].nextOffset = range.offsets.upperBound }
    // What the decider makes of an empty batch has its sequences too; it is published with the backlog.
    let commit = CommitBatch<Service>(
      partition: partition, epoch: epoch, number: context.batchNumber, committedAt: context.now,
      inputs: inputs.map { InputCommit(firstOffset: $0.nextOffset, position: $0) },
      outputs: outputCommits(adding: decision.messages), watermark: watermark, outcomes: [], arrivals: nil,
      effects: decision.effects, rejections: [], rejectedNotKept: 0, outbox: [], deliveredOutbox: [], gapRequests: [],
      lost: lost, lostSequences: [])
    let result: CommitResult
    switch try store.commit([commit]) {
    case .success(let made): result = made[0]
    case .failure(let refusal):
      throw .invariantBroken(
        "the database refuses to record ranges as lost, which no record can be left out of: \(refusal)")
    }
    _ = decider?.committed(result)
    batchNumber = commit.number
    count(commit)
    for range in lost {
      alarm(.lostOffsets(topic: service.inputs[range.input].topic, offsets: range.offsets, detail: range.detail))
    }
    for output in cursors.indices {
      cursors[output].committed(next: commit.outputs[output].position.nextSequence)
    }
    for message in result.messages { cursors[message.output].committed(next: message.sequence + 1) }
  }
}
