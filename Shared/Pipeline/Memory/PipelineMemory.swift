/// What all partitions of a process may keep in memory together, whatever their number.
package struct PipelineMemory: Sendable {
  /// Of bytes that entries of outboxes take. What is more stays in the database until there is room.
  package static let outboxBytesMaximum = 8 << 20
  /// Of keys of counts that wait to be written: about 16 MiB, and as many again while they are written.
  package static let countKeysMaximum = 1 << 15

  package let outboxBytes: SharedBound
  package let countKeys: SharedBound

  package init(
    outboxBytesMaximum: Int = PipelineMemory.outboxBytesMaximum,
    countKeysMaximum: Int = PipelineMemory.countKeysMaximum
  ) {
    outboxBytes = SharedBound(outboxBytesMaximum)
    countKeys = SharedBound(countKeysMaximum)
  }
}
