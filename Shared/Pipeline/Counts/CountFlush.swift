/// Counts of a partition on their way into their table, written in one transaction or not at all: exactly once.
///
/// The transaction moves the partition's row of `counted` on, from the batch that it must stand at to ``upTo``; where it
/// stands elsewhere nothing is written. Nor is anything where the partition has another owner, or these batches are not there:
/// their commits may have been lost, and others have their numbers. The next owner has counted again what is missing.
package struct CountFlush<Key: Hashable & Sendable, Sums: Sendable>: Sendable {
  package enum Content: Sendable {
    /// Of the batches after this one.
    case collected([Key: Sums], after: Int64)
    /// What the tables say, of all batches that are not counted yet: a new owner has nothing else.
    case stored
  }

  package var partition: Int32
  /// That of the owner whose batches these are.
  package var epoch: Int64
  /// Up to this batch everything is counted then.
  package var upTo: Int64
  package var content: Content

  package init(partition: Int32, epoch: Int64, upTo: Int64, content: Content) {
    self.partition = partition
    self.epoch = epoch
    self.upTo = upTo
    self.content = content
  }
}

/// What became of a flush.
package struct CountReport: Hashable, Sendable {
  package var partition: Int32
  package var epoch: Int64
  package var upTo: Int64
  /// Somebody else has counted: the partition is theirs.
  package var isRefused: Bool

  package init(partition: Int32, epoch: Int64, upTo: Int64, isRefused: Bool) {
    self.partition = partition
    self.epoch = epoch
    self.upTo = upTo
    self.isRefused = isRefused
  }
}
