internal import AdCore
internal import AdEvents
internal import Crypto

extension PartitionPipeline {
  /// Sends messages that were just committed, unless earlier ones still wait in the database; those go first.
  func publish(_ messages: [NumberedMessage]) {
    for message in messages where cursors[message.output].isDue(message.firstSequence) {
      guard send(message) else { return }
    }
  }

  /// Sends the next messages that wait in the database, a bounded number of each output.
  func publishBacklog() throws(PipelineError) {
    for output in cursors.indices where cursors[output].isBehind && !isWriterDown {
      let waiting = try store.messages(
        partition: partition, output: output, from: cursors[output].sent + 1,
        limit: PipelineLimits.backlogMessagesMaximum)
      for message in waiting where message.firstSequence > cursors[output].sent {
        guard stepOver(output, to: message.firstSequence), send(message) else { return }
      }
      if waiting.isEmpty, !stepOver(output, to: cursors[output].next) { return }
    }
  }

  /// Retention took the rows of the sequences before `next` that were not sent: nobody can ever send them. Consumers are
  /// told, or they would wait for them for ever.
  private func stepOver(_ output: Int, to next: Int64) -> Bool {
    let first = cursors[output].sent + 1
    guard first < next else { return true }
    let mark = Watermark(time: Timestamp(milliseconds: 0), sequence: next - 1, firstLostSequence: first)
    if let message = service.watermarkMessage(mark, output: output, partition: partition) {
      guard send(NumberedMessage(output: output, sequence: next - 1, message: message)) else { return false }
    } else {
      cursors[output].sending(next - 1)
    }
    lostSequences.append(LostSequences(output: output, sequences: first..<next))
    alarm(.lostSequences(topic: service.outputs[output], sequences: first..<next))
    return true
  }

  private func send(_ message: NumberedMessage) -> Bool {
    let receipt = Receipt(
      partition: partition, content: .numbered(output: message.output, sequence: message.sequence))
    do {
      try writer.send(marked(message.message), receipt: receipt)
      cursors[message.output].sending(message.sequence)
      return true
    } catch {
      // Sent again from the database once the writer is rebuilt.
      isWriterDown = true
      return false
    }
  }

  /// Sends what is not sent again by itself: an answer, a watermark.
  func sendUnreceipted(_ message: OutgoingMessage) {
    do { try writer.send(marked(message), receipt: nil) } catch { isWriterDown = true }
  }

  func forwardEntry(
    _ forward: BatchDecision<Service.Effects>.Forward, record: InputRecord<Service.Event>, raw: RawBytes, count: Int
  ) -> OutboxEntry {
    let message = OutgoingMessage(
      topic: forward.topic, partition: forward.partition, key: raw.textKey(record.raw),
      value: raw.value(record.raw).map(Array.init), headers: raw.headers(record.raw) + forward.headers)
    return OutboxEntry(id: outboxID + Int64(count) + 1, message: message)
  }

  /// The row of a rejected record; nil where it is only to be counted.
  func rejectedRecord(
    _ rejection: BatchDecision<Service.Effects>.Rejection, record: InputRecord<Service.Event>, raw: RawBytes,
    now: Timestamp
  ) -> RejectedRecord? {
    guard rejection.reason.isKept else { return nil }
    let value = raw.value(record.raw)
    let bytes = record.raw.byteCount
    guard let kept = rejectionLimit.allow(bytes, now: now) else { return nil }
    let redacted = RedactedRecord(
      topic: service.inputs[record.input].topic, key: raw.key(record.raw), value: value.map(Array.init),
      headers: raw.headers(record.raw))
    // A part of the headers would be worth nothing: who reads it could not tell what is missing.
    let isWhole = kept == bytes
    return RejectedRecord(
      input: record.input, offset: record.offset, arrival: max(record.arrival, watermark),
      reason: rejection.reason.rawValue, detail: rejection.detail,
      value: redacted.value.flatMap { kept == 0 && !$0.isEmpty ? nil : Array($0.prefix(kept)) },
      valueLength: Int64(value?.count ?? -1), valueHash: SHA256.hash(value ?? []),
      key: isWhole ? redacted.key : nil, headers: isWhole ? redacted.headers : nil)
  }

  func rejectionEntry(_ row: RejectedRecord, reason: RejectionReason, count: Int) -> OutboxEntry {
    let event = RejectedEvent(
      reason: reason, detail: row.detail, topic: service.inputs[row.input].topic, partition: partition,
      offset: row.offset, service: Service.name, arrival: row.arrival, value: row.value ?? [],
      valueLength: row.valueLength, valueHash: row.valueHash)
    return OutboxEntry(
      id: outboxID + Int64(count) + 1, message: RejectedMessage.make(event))
  }
}
