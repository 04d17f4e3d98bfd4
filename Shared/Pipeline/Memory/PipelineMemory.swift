/// What the partitions of a process may keep in memory: all together, whatever their number, and each.
package struct PipelineMemory: Sendable {
  /// Of bytes that entries of outboxes take. What is more stays in the database until there is room.
  package static let outboxBytesMaximum = 8 << 20
  /// Of keys of counts that wait to be written: about 16 MiB, and as many again while they are written.
  package static let countKeysMaximum = 1 << 15
  /// Of undelivered entries of one partition's outbox; with so many nothing more is read before some are delivered.
  package static let outboxEntriesMaximum = 20_000

  package let outboxBytes: SharedBound
  /// With its part of them a partition's counts are flushed at once; while they cannot be, nothing more is read.
  package let countKeys: SharedBound
  let outboxEntriesMaximum: Int

  package init(
    outboxBytesMaximum: Int = PipelineMemory.outboxBytesMaximum,
    countKeysMaximum: Int = PipelineMemory.countKeysMaximum,
    outboxEntriesMaximum: Int = PipelineMemory.outboxEntriesMaximum
  ) {
    outboxBytes = SharedBound(outboxBytesMaximum)
    countKeys = SharedBound(countKeysMaximum)
    self.outboxEntriesMaximum = outboxEntriesMaximum
  }
}
