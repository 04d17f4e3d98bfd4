package import AdCore

/// What a worker is told. A generation counts the openings of a partition: what belongs to an earlier one is dropped.
package enum WorkerCommand<Batch: Sendable>: Sendable {
  case open(Int32, by: PartitionClaim, partitionCount: Int32, generation: UInt64)
  case batch(Int32, Batch, generation: UInt64)
  case confirmEnd(Int32, LogEnd, generation: UInt64)
  /// The producer has delivered these.
  case delivered([Receipt])
  /// The producer failed and was made again.
  case writerRebuilt
  /// A flush of counts has ended.
  case counted(CountReport)
  case close(Int32, generation: UInt64)
  case stop
}

/// Where the log of an input ended.
package struct LogEnd: Hashable, Sendable {
  package var input: Int
  package var offset: Int64
  /// When it was asked for: what arrives later is not meant.
  package var asked: Timestamp
  /// Up to here it was decided before that, in the same opening of the partition.
  package var decided: Int64

  package init(input: Int, offset: Int64, asked: Timestamp, decided: Int64) {
    self.input = input
    self.offset = offset
    self.asked = asked
    self.decided = decided
  }
}

/// What workers tell the reader. A generation counts the openings of a partition.
package enum WorkerEvent: Hashable, Sendable {
  case opened(Int32, epoch: Int64, offsets: [Int64], generation: UInt64)
  case finishedBatch(Int32, nextOffsets: [Int64], generation: UInt64)
  /// The partition cannot go on; it may be opened again after a pause.
  case failed(Int32, PipelineError, generation: UInt64)
  case closed(Int32, generation: UInt64)
}

/// How a partition stands after something was done for it.
package struct PartitionStanding: Hashable, Sendable {
  /// Per input: decided and committed up to here.
  package var nextOffsets: [Int64]
  /// So much waits to be delivered, or counted, that nothing more may be read.
  package var isFull: Bool
  /// Committed messages still wait to be sent.
  package var hasBacklog: Bool

  package init(nextOffsets: [Int64], isFull: Bool, hasBacklog: Bool) {
    self.nextOffsets = nextOffsets
    self.isFull = isFull
    self.hasBacklog = hasBacklog
  }
}
