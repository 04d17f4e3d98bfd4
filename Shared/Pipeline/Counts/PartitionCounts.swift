package import AdCore

/// What the committed batches of a partition add to its counts and no table has yet.
///
/// Most keys come again in the next batch, and nobody who waits for an answer needs them: so they are collected here and
/// appended to their table now and then, by a transaction of its own (``CountFlush``). They are lost with the process:
/// whoever opens the partition has the rows of those batches counted again whose counts no table has.
///
/// counting again → collecting ⇄ flushing. A flush is tried until it is written, or somebody else has counted; meanwhile
/// the next batches are collected. When they have too many keys (``isFull``) the partition gets nothing more to decide
/// until the flush has ended. So memory is bounded: by the keys of a flush, as many again, and those of the batches that
/// its worker was given already.
package struct PartitionCounts<Key: Hashable & Sendable, Sums: Sendable>: Sendable {
  /// A batch is in its table so long after its commit, or a tick later, while it has at most a thousand keys.
  static var intervalMilliseconds: Int64 { 1_000 }
  /// With more keys it takes longer, so that a partition appends no more than a thousand rows a second ...
  static var keysPerMillisecond: Int64 { 1 }
  /// ... but no longer than so, however many they are. As long where nothing was counted: then only the batches are told.
  static var longestIntervalMilliseconds: Int64 { 10_000 }

  private let epoch: Int64
  private var collected: [Key: Sums] = [:]
  /// The last batch that was collected.
  private var lastBatch: Int64
  /// Up to this batch everything is in a table, or in the flush under way.
  private var flushedBatch: Int64
  private var isFlushing = true
  private var flushedAt: Timestamp
  /// With so many keys they are flushed at once.
  package var keysMaximum: Int

  /// Of a partition that was just opened: its earlier batches are being counted again.
  ///
  /// - Parameters:
  ///   - epoch: its owner's.
  ///   - batch: its last batch.
  ///   - now: the time of the opening.
  package init(epoch: Int64, after batch: Int64, now: Timestamp, keysMaximum: Int) {
    self.epoch = epoch
    lastBatch = batch
    flushedBatch = batch
    flushedAt = now
    self.keysMaximum = keysMaximum
  }

  /// Adds a batch that was committed.
  package mutating func collect(_ batch: Int64, _ count: (inout [Key: Sums]) -> Void) {
    count(&collected)
    lastBatch = batch
  }

  /// Nothing more may be collected until the flush under way has ended.
  package var isFull: Bool { isFlushing && collected.count >= keysMaximum }

  private func isDue(now: Timestamp) -> Bool {
    guard !isFlushing, lastBatch > flushedBatch else { return false }
    guard collected.count < keysMaximum else { return true }
    let age = now.milliseconds(since: flushedAt)
    let wanted = max(Int64(collected.count) / Self.keysPerMillisecond, Self.intervalMilliseconds)
    let interval = collected.isEmpty ? .max : wanted
    // A clock that was set back must not make counts wait until it has caught up.
    return age < 0 || age >= min(interval, Self.longestIntervalMilliseconds)
  }

  /// What is to be written now; nil while nothing is due, or another flush is under way.
  package mutating func flush(partition: Int32, now: Timestamp) -> CountFlush<Key, Sums>? {
    isDue(now: now) ? takeAll(partition: partition, now: now) : nil
  }

  /// What is left when the partition is given up in order; it follows the flush under way, if there is one.
  package mutating func lastFlush(partition: Int32, now: Timestamp) -> CountFlush<Key, Sums>? {
    lastBatch > flushedBatch ? takeAll(partition: partition, now: now) : nil
  }

  private mutating func takeAll(partition: Int32, now: Timestamp) -> CountFlush<Key, Sums> {
    defer {
      collected = Dictionary(minimumCapacity: collected.count)
      flushedBatch = lastBatch
      flushedAt = now
      isFlushing = true
    }
    return CountFlush(
      partition: partition, epoch: epoch, upTo: lastBatch, content: .collected(collected, after: flushedBatch))
  }

  /// A flush has ended. False: it was of an earlier owner, and is nothing of ours.
  package mutating func ended(_ report: CountReport) -> Bool {
    guard isFlushing, report.epoch == epoch, report.upTo == flushedBatch else { return false }
    isFlushing = false
    return true
  }
}
