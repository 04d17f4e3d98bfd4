internal import AdCore

extension PartitionPipeline {
  package typealias Counts = PartitionCounts<Service.CountKey, Service.CountSums>

  /// Has the batches counted that no table has counted; the next ones are collected.
  func beginCounting() {
    let quota = countQuota ?? memory.countKeys.quota()
    countQuota = quota
    counts = Counts(epoch: epoch, after: batchNumber, now: clock.now, keysMaximum: quota.part)
    store.flush(CountFlush(partition: partition, epoch: epoch, upTo: batchNumber, content: .stored))
  }

  /// Collects a batch that was committed.
  func count(_ batch: CommitBatch<Service>) {
    if let countQuota { counts.keysMaximum = countQuota.part }
    counts.collect(batch.number) { Service.count(batch.effects, into: &$0) }
    flushCounts()
  }

  /// Hands over what is due; its end is told by ``counted(_:)``.
  func flushCounts() {
    if let flush = counts.flush(partition: partition, now: clock.now) { store.flush(flush) }
  }

  /// A flush has ended.
  ///
  /// - Throws: ``PipelineError/fenced`` where somebody else has counted, since nobody does but an owner.
  package func counted(_ report: CountReport) throws(PipelineError) {
    guard counts.ended(report) else { return }
    if report.isRefused { throw .fenced }
    flushCounts()
  }

  /// The partition is given up in order: hands over what is left, so that the next owner has nothing to count again.
  package func flushLastCounts() {
    if let flush = counts.lastFlush(partition: partition, now: clock.now) { store.flush(flush) }
  }
}
