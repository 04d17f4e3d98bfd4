/// Batches that a worker was told to process and has not: those that it has at hand are committed together.
package struct WaitingBatches<Event: Sendable>: Sendable {
  /// Larger than this, in records, a transaction gains nothing from having more in it.
  package static var recordsMaximum: Int { 1_000 }

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
    var records = 0
    var seen: Set<Int32> = []
    batches.removeAll { waiting in
      let isFirst = seen.insert(waiting.partition).inserted
      let fits = taken.isEmpty || records + waiting.batch.records.count <= Self.recordsMaximum
      guard isFirst, fits else { return false }
      records += waiting.batch.records.count
      taken.append(waiting)
      return true
    }
    return taken
  }
}
