internal import Pipeline

/// What was read of one partition and not handed to its worker. A class, so that the batch grows in place.
final class OpenBatch<Event: Sendable> {
  var batch: InputBatch<Event>

  init(inputCount: Int) { batch = InputBatch(inputCount: inputCount) }

  /// What was collected; the next batch begins.
  func take() -> InputBatch<Event> {
    let full = batch
    batch = InputBatch(inputCount: full.nextOffsets.count)
    return full
  }
}

/// The open batches of all partitions. Records come in runs of one partition: that of the record before is found
/// without a look-up.
struct OpenBatches<Event: Sendable> {
  private var batches: [Int32: OpenBatch<Event>] = [:]
  private var last: (partition: Int32, batch: OpenBatch<Event>)?

  subscript(partition: Int32) -> OpenBatch<Event>? {
    mutating get {
      if let last, last.partition == partition { return last.batch }
      let batch = batches[partition]
      last = batch.map { (partition, $0) }
      return batch
    }
    set {
      last = nil
      batches[partition] = newValue
    }
  }
}

/// Limits of the reader.
enum ReaderLimits {
  /// What a batch may take in memory before it is handed over; what was read with its last record comes on top.
  static let batchBytesMaximum = 8 << 20
  /// What the batches of all partitions may take together, those that workers have included.
  static let heldBytesMaximum = 32 << 20
  /// Records of one poll.
  static let pollRecordsMaximum = 1_000
  /// Bytes of one poll, and one record more: in memory a run of events takes a dozen times what it has in the log.
  static let pollBytesMaximum = 256 << 10
  static let pollMilliseconds: Int64 = 100
  static let commitMilliseconds: Int64 = 1_000
  /// The most between two batches of watermarks alone. The figures of a quiet network are final so much later, and once more
  /// for each service that reads those of another.
  static let quietMillisecondsMaximum: Int64 = 32_000
  /// How long workers may take at the end to finish what they have.
  static let finishMilliseconds = 20_000
}
