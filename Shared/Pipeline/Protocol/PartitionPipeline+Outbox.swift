extension PartitionPipeline {
  /// Whether so much waits to be delivered that nothing more may be read.
  package var isOutboxFull: Bool {
    outbox.map { $0.count >= memory.outboxEntriesMaximum || $0.hasMore } ?? false
  }

  /// Whether committed messages still wait to be sent, and can be.
  package var hasBacklog: Bool {
    !isWriterDown && (cursors.contains(where: \.isBehind) || (outbox?.readableCount ?? 0) > 0)
  }

  /// Sends a part of the backlog; to be called again while ``hasBacklog``.
  package func continueBacklog() throws(PipelineError) {
    try publishBacklog()
    try continueOutbox()
  }

  /// Reads what the database has of the outbox and there is room for, and sends it.
  func continueOutbox() throws(PipelineError) {
    while let outbox, outbox.readableCount > 0 {
      let entries = try store.outbox(partition, after: outbox.lastHeld, limit: outbox.readableCount)
      if entries.isEmpty { self.outbox?.readAll() }
      hold(entries)
    }
  }

  /// Sends what was just committed, unless older entries still wait in the database; those go first.
  func sendOutbox(_ entries: [OutboxEntry]) {
    if outbox?.hasMore == false { hold(entries) }
  }

  /// Sends entries. Where there is no room for one, it waits in the database with all behind it.
  private func hold(_ entries: [OutboxEntry]) {
    for entry in entries {
      guard outbox?.hold(entry) ?? false else { return }
      send(entry)
    }
  }

  /// What the writer may have lost goes out once more.
  func resendOutbox() {
    for entry in outbox?.pending ?? [] { send(entry) }
  }

  private func send(_ entry: OutboxEntry) {
    guard !isWriterDown else { return }
    do {
      try writer.send(entry.message, receipt: Receipt(partition: partition, content: .outbox(id: entry.id)))
    } catch {
      isWriterDown = true
    }
  }
}
