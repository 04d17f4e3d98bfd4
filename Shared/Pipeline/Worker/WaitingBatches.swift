/// Batches that a worker was told to process and has not: those that it has at hand are committed together.
package struct WaitingBatches<Event: Sendable>: Sendable {
  /// With so many records a transaction gains nothing from another batch; one batch alone may have more.
  package static var recordsMaximum: Int { 1_000 }
  /// Nor does it get larger, in bytes, than one batch may be.
  package static var bytesMaximum: Int { 8 << 20 }

  private var batches: [(partition: Int32, batch: InputBatch<Event>)] = []

  package init() {}

  package mutating func append(_ batch: InputBatch<Event>, of partition: Int32) {
    batches.append((partition, batch))
  }

  /// Its opening has ended: what it was given is read again by the next one.
  package mutating func drop(_ partition: Int32) { batches.removeAll { $0.partition == partition } }

  /// What is to be committed next, in one transaction: one batch of each partition at most, for the second one of a partition
  /// follows from what the first comes to. Empty when nothing waits.
  package mutating func next() -> [(partition: Int32, batch: InputBatch<Event>)] {
    var taken: [(partition: Int32, batch: InputBatch<Event>)] = []
    var (records, bytes) = (0, 0)
    var seen: Set<Int32> = []
    batches.removeAll { waiting in
      let isFirst = seen.insert(waiting.partition).inserted
      let (more, moreBytes) = (waiting.batch.records.count, waiting.batch.memoryBytes)
      let fits = records + more <= Self.recordsMaximum && bytes + moreBytes <= Self.bytesMaximum
      guard isFirst, fits || taken.isEmpty else { return false }
      records += more
      bytes += moreBytes
      taken.append(waiting)
      return true
    }
    return taken
  }
}
