internal import AdCore
internal import AdEvents

/// Lost commits: a restored backup, or a promoted standby that lacked some, knows less than the topics tell. Nothing is
/// published over that, and nothing of it is consumed, before a person has decided.
extension PartitionPipeline {
  /// The last batch that was committed; nil before the partition is open.
  package var committed: CommittedBatch? {
    history.current.map { CommittedBatch(timeline: $0, number: batchNumber, outboxID: outboxID) }
  }

  /// - Parameter earlier: what this process has committed here before.
  func checkHistory(since earlier: CommittedBatch?) throws(PipelineError) {
    if let fault = history.fault { throw commitsLost(fault) }
    if let earlier, earlier.timeline == history.current, earlier.number > batchNumber {
      throw commitsLost("batch \(earlier.number) was committed here, the database knows \(batchNumber)")
    }
  }

  /// - Parameter marks: what the last record of each of the service's ``PipelineService/markedTopics`` tells.
  func check(_ marks: [TimelineMark?]) throws(PipelineError) {
    for (output, mark) in marks.prefix(cursors.count).enumerated() {
      let fault = mark.flatMap { history.fault(of: $0, sequence: cursors[output].next - 1, batch: batchNumber) }
      if let fault { throw commitsLost("\(service.outputs[output])[\(partition)]: \(fault)") }
    }
    let sequenced = service.inputs.indices.filter { service.inputs[$0].isSequenced }
    try compareWithWriters(
      zip(sequenced, marks.dropFirst(cursors.count)).compactMap { input, mark in
        mark.map { InputMark(input: input, told: $0) }
      })
  }

  /// Nothing of another database is consumed, nor of commits that this one has lost. Their records may come behind the opening
  /// of the partition, from a writer that still sends what it had committed.
  func checkMarks(of batch: InputBatch<Service.Event>) throws(PipelineError) {
    for mark in batch.marks {
      if let fault = history.fault(of: mark) { throw commitsLost(fault, in: mark) }
    }
    // The rest is of timelines that a backup of before does not know, and of before the one in force.
    try compareWithWriters(batch.marks.filter { history.timelines.contains($0.told.timeline) })
  }

  /// A commit comes before its messages: so the writers' rows know of all that is told. They are asked only where more is told
  /// than they knew when they were asked last.
  private func compareWithWriters(_ marks: [InputMark]) throws(PipelineError) {
    func fault(_ mark: InputMark) -> String? {
      let writer = writers[mark.input] ?? WriterStanding(sequence: 0, batch: 0)
      return history.fault(of: mark.told, sequence: writer.sequence, batch: writer.batch)
    }
    guard marks.contains(where: { fault($0) != nil }) else { return }
    writers = try store.writers(partition)
    for mark in marks {
      if let fault = fault(mark) { throw commitsLost(fault, in: mark) }
    }
  }

  private func commitsLost(_ fault: String, in mark: InputMark) -> PipelineError {
    commitsLost("\(service.inputs[mark.input].topic)[\(partition)]: \(fault)")
  }

  /// The finding is stored, so that whoever opens the partition next stops as well. Who is fenced meanwhile has found nothing:
  /// a timeline may have been begun that he does not know yet.
  private func commitsLost(_ detail: String) -> PipelineError {
    if history.finding == nil {
      do throws(PipelineError) { try store.note(finding: detail, partition: partition, epoch: epoch) } catch {
        if error == .fenced { return .fenced }
      }
    }
    return .commitsLost(
      "\(detail): commits were lost, as by a restored backup or a failover; 'handbill restore accept' (docs/runbooks.md)"
    )
  }

  /// What goes into an output says how far we have come.
  func marked(_ message: OutgoingMessage) -> OutgoingMessage {
    guard let timeline = history.current, let output = service.outputs.firstIndex(of: message.topic) else {
      return message
    }
    return message.marked(TimelineMark(timeline: timeline, sequence: cursors[output].next - 1, batch: batchNumber))
  }
}
