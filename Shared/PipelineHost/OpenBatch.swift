import AdCore
import Kafka
import Pipeline

/// What the reader knows of one partition number that this instance has. A class, so that the batch in
/// it grows in place.
final class PartitionIntake<Service: PipelineService> {
  enum Phase: Equatable {
    /// A worker takes it over; nothing is read.
    case opening
    /// Records are read and handed on.
    case open
    /// It failed and is opened again at this time (monotonic ms).
    case waiting(until: Int64)
    /// A worker finishes what it has of it, then it is given up.
    case closing
  }

  var phase = Phase.opening
  var generation: UInt64
  /// By what right it was opened last, and is opened again.
  var claim: PartitionClaim
  var partitionCount: Int32
  /// Per input: the offset to read next.
  var readOffsets: [Int64]
  /// Per input: decided and committed up to here.
  var doneOffsets: [Int64]
  var batch: InputBatch<Service.Event>
  var batchStarted: Int64 = 0
  /// Batches handed to the worker and not finished.
  var batchesAtWorker = 0
  var isPaused = false
  var failures = 0

  init(inputCount: Int, partitionCount: Int32, claim: PartitionClaim, generation: UInt64) {
    self.generation = generation
    self.claim = claim
    self.partitionCount = partitionCount
    readOffsets = Array(repeating: 0, count: inputCount)
    doneOffsets = readOffsets
    batch = InputBatch(inputCount: inputCount)
  }

  var leasePhase: LeasePhase {
    switch phase {
    case .opening, .waiting: .opening
    case .open: .open
    case .closing: .closing
    }
  }

  /// Begins again at `offsets`.
  func restart(at offsets: [Int64]) {
    phase = .open
    readOffsets = offsets
    doneOffsets = offsets
    batch = InputBatch(inputCount: offsets.count)
    batchesAtWorker = 0
    isPaused = false
    failures = 0
  }

  func takeBatch() -> InputBatch<Service.Event> {
    let full = batch
    batch = InputBatch(inputCount: readOffsets.count, like: full)
    batchesAtWorker += 1
    return full
  }
}

/// Limits of the reader.
enum IntakeLimits {
  /// Batches of a partition at its worker: one at work and one decoded meanwhile.
  static let batchesAtWorkerMaximum = 2
  /// Bytes of original records in one batch.
  static let batchBytesMaximum = 16 << 20
  /// Records of one poll.
  static let pollRecordsMaximum = 5_000
  static let pollMilliseconds: Int32 = 100
  static let reopenMillisecondsMinimum: Int64 = 100
  static let reopenMillisecondsMaximum: Int64 = 10_000
  static let commitMilliseconds: Int64 = 1_000
  /// How long the consumer's end may take.
  static let closeMilliseconds: Int32 = 3_000
}
