package import AdCore
package import Records

/// Where a partition stands, as its tables say.
package struct PartitionPosition: Hashable, Sendable {
  /// Raised with each owner: the fence.
  package var epoch: Int64
  /// The last committed batch; dense, from 1.
  package var batchNumber: Int64
  package var watermark: Timestamp
  package var inputs: [InputPosition]
  package var outputs: [OutputPosition]
  /// The highest id ever given to an outbox entry of the partition.
  package var outboxID: Int64
  package var history: CommitHistory

  package init(
    epoch: Int64, batchNumber: Int64, watermark: Timestamp, inputs: [InputPosition], outputs: [OutputPosition],
    outboxID: Int64, history: CommitHistory
  ) {
    self.epoch = epoch
    self.batchNumber = batchNumber
    self.watermark = watermark
    self.inputs = inputs
    self.outputs = outputs
    self.outboxID = outboxID
    self.history = history
  }
}

/// The position in one input.
package struct InputPosition: Hashable, Sendable {
  package var nextOffset: Int64
  /// The last record decided; nil before the first.
  package var last: RecordIdentity?
  /// The highest sequence taken; 0 before the first. Only for inputs with sequences.
  package var consumedSequence: Int64
  /// The highest watermark taken. Only for inputs with sequences.
  package var consumedWatermark: Timestamp

  package init(nextOffset: Int64, last: RecordIdentity?, consumedSequence: Int64, consumedWatermark: Timestamp) {
    self.nextOffset = nextOffset
    self.last = last
    self.consumedSequence = consumedSequence
    self.consumedWatermark = consumedWatermark
  }

  package static let start = InputPosition(
    nextOffset: 0, last: nil, consumedSequence: 0, consumedWatermark: Timestamp(milliseconds: 0))
}

/// The position in one output with sequences.
package struct OutputPosition: Hashable, Sendable {
  /// The sequence that the next message gets; 1 at the start.
  package var nextSequence: Int64
  /// The highest sequence known to be delivered; 0 at the start.
  package var confirmedSequence: Int64

  package init(nextSequence: Int64, confirmedSequence: Int64) {
    self.nextSequence = nextSequence
    self.confirmedSequence = confirmedSequence
  }

  package static let start = OutputPosition(nextSequence: 1, confirmedSequence: 0)
}

/// Which record, in which log: the same offset in another log has another timestamp or other content.
public struct RecordIdentity: Hashable, Sendable {
  public var offset: Int64
  /// Milliseconds since 1970, as the log says; 0 on a log that says none.
  public var timestamp: Int64
  public var contentHash: UInt64

  @inlinable
  public init(offset: Int64, timestamp: Int64, contentHash: UInt64) {
    self.offset = offset
    self.timestamp = timestamp
    self.contentHash = contentHash
  }
}

/// What is to be committed in one transaction.
package struct CommitBatch<Service: PipelineService> {
  package var partition: Int32
  package var epoch: Int64
  /// The number of this batch: one more than the last.
  package var number: Int64
  package var committedAt: Timestamp
  package var inputs: [InputCommit]
  package var outputs: [OutputCommit]
  package var watermark: Timestamp
  /// One byte for each offset, input after input.
  package var outcomes: [UInt8]
  /// First and last arrival of its records; nil for a batch of a timer.
  package var arrivals: ClosedRange<Timestamp>?
  package var effects: Service.Effects
  package var rejections: [RejectedRecord]
  /// Rejected records beyond ``RejectionLimit``: their outcome is all that is kept of them.
  package var rejectedNotKept: Int64
  package var outbox: [OutboxEntry]
  package var deliveredOutbox: [Int64]
  package var gapRequests: [GapRequest]
  /// Offsets that the log had removed before they were read.
  package var lost: [LostRange]
  package var lostSequences: [LostSequences]
}

/// Sequences of an output that will never be published: retention removed their rows.
package struct LostSequences: Hashable, Sendable {
  package var output: Int
  package var sequences: Range<Int64>

  package init(output: Int, sequences: Range<Int64>) {
    self.output = output
    self.sequences = sequences
  }
}

/// Offsets that will never be decided, and why.
package struct LostRange: Hashable, Sendable {
  package var input: Int
  package var offsets: Range<Int64>
  package var detail: String

  package init(input: Int, offsets: Range<Int64>, detail: String) {
    self.input = input
    self.offsets = offsets
    self.detail = detail
  }
}

/// How far one input moves.
package struct InputCommit: Hashable, Sendable {
  package var firstOffset: Int64
  package var position: InputPosition

  package init(firstOffset: Int64, position: InputPosition) {
    self.firstOffset = firstOffset
    self.position = position
  }
}

/// How far one output moves.
package struct OutputCommit: Hashable, Sendable {
  package var firstSequence: Int64
  package var position: OutputPosition

  package init(firstSequence: Int64, position: OutputPosition) {
    self.firstSequence = firstSequence
    self.position = position
  }
}

/// A sequence that this consumer misses.
package struct GapRequest: Hashable, Sendable {
  package var input: Int
  package var sequence: Int64

  package init(input: Int, sequence: Int64) {
    self.input = input
    self.sequence = sequence
  }
}

/// What only the transaction could decide.
package struct CommitResult: Hashable, Sendable {
  /// Messages that it made, with the sequences it gave them.
  package var messages: [NumberedMessage]

  package init(messages: [NumberedMessage] = []) { self.messages = messages }
}

/// Why the database takes a batch's rows as little the next time; nothing was committed. Only a batch has it: it can
/// leave records out and be decided again.
package enum RowRefusal: Error, Hashable, Sendable {
  /// An id of the batch exists already (SQLSTATE 23505).
  case duplicate
  /// A row breaks a constraint or a type (SQLSTATE 22 or 23).
  case refused(String)
}

/// What is committed between batches.
package struct Checkpoint: Hashable, Sendable {
  package var partition: Int32
  package var epoch: Int64
  package var batchNumber: Int64
  package var watermark: Timestamp
  package var confirmed: [Int64]
  package var consumedWatermarks: [Timestamp]
  package var deliveredOutbox: [Int64]
  package var gapRequests: [GapRequest]
  package var answeredGapRequests: [ReceivedGapRequest]
  package var lostSequences: [LostSequences]
}

/// A rejected record, as the table of rejected events keeps it: what `RedactedRecord` leaves of it (A8).
package struct RejectedRecord: Hashable, Sendable {
  package var input: Int
  package var offset: Int64
  package var arrival: Timestamp
  package var reason: UInt8
  package var detail: String
  /// What may be kept of the value, capped; nil where there is nothing of it, or beyond the limit per minute.
  package var value: [UInt8]?
  /// The original length in bytes; -1 for a null value.
  package var valueLength: Int64
  /// SHA-256 of the original value.
  package var valueHash: [UInt8]
  /// The original key; nil where there was none or it may not be kept, and where ``headers`` is nil.
  package var key: [UInt8]?
  /// Those of the original headers that may be kept, in their order; nil where key, value and headers together were
  /// beyond a limit. Where they are kept, nothing was cut for its length: whether the record can be sent again as it
  /// came, length and hash of the value tell.
  package var headers: [RecordHeader]?

  package init(
    input: Int, offset: Int64, arrival: Timestamp, reason: UInt8, detail: String, value: [UInt8]?, valueLength: Int64,
    valueHash: [UInt8], key: [UInt8]?, headers: [RecordHeader]?
  ) {
    self.input = input
    self.offset = offset
    self.arrival = arrival
    self.reason = reason
    self.detail = detail
    self.value = value
    self.valueLength = valueLength
    self.valueHash = valueHash
    self.key = key
    self.headers = headers
  }
}
