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
    let told = marks.dropFirst(cursors.count)
    guard told.contains(where: { $0 != nil }) else { return }
    // Asked after the topics: what they told by then was committed before.
    let writers = try store.writers(partition)
    for (input, mark) in zip(service.inputs.indices.filter { service.inputs[$0].isSequenced }, told) {
      let writer = writers[input] ?? WriterStanding(sequence: 0, batch: 0)
      let fault = mark.flatMap { history.fault(of: $0, sequence: writer.sequence, batch: writer.batch) }
      if let fault { throw commitsLost("\(service.inputs[input].topic)[\(partition)]: \(fault)") }
    }
  }

  /// Nothing of another database is consumed.
  func checkMarks(of batch: InputBatch<Service.Event>) throws(PipelineError) {
    for mark in batch.marks {
      if let fault = history.fault(of: mark) {
        throw commitsLost("\(service.inputs[mark.input].topic)[\(partition)]: \(fault)")
      }
    }
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
