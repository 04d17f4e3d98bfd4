public import AdCore
package import AdEvents
package import Crypto
package import Records

/// Where a record comes from.
package struct InputDeclaration: Hashable, Sendable {
  package var topic: String
  /// Its records carry dense sequences: another service's output.
  package var isSequenced: Bool
  /// Whether how far that service has decided bounds how far this one says to have. Not where that one takes this one's
  /// output in turn: both would stand still for ever, each waiting for the other.
  package var boundsWatermark: Bool

  package init(topic: String, isSequenced: Bool, boundsWatermark: Bool = true) {
    self.topic = topic
    self.isSequenced = isSequenced
    self.boundsWatermark = boundsWatermark
  }
}

/// What the records of a service's inputs can say.
package protocol RejectableEvent: Sendable {
  /// The record is worth nothing, and why.
  static func rejected(_ rejection: Rejection) -> Self
}

/// What one service brings to the pipeline: its inputs and outputs, how a record is decoded, how one partition decides.
package protocol PipelineService: Sendable {
  /// The union of what the inputs can say, a rejection included.
  associatedtype Event: RejectableEvent
  associatedtype Decider: PartitionDecider<Self>
  /// What a batch asks the database before it is decided, and what it learns.
  associatedtype Query: Sendable
  associatedtype Knowledge: Sendable
  /// What a batch writes into the service's own tables.
  associatedtype Effects: Sendable
  associatedtype Decoder: RecordDecoder<Event>
  /// What reports count by (M6), and what they add up.
  associatedtype CountKey: Hashable & Sendable
  associatedtype CountSums: Sendable

  /// The service's name: its schema in the database (with `_` for `-`), the group in whose name its
  /// positions are committed for lag tools, its logs.
  static var name: String { get }
  /// The network's keys: messages between services are under them.
  var ring: KeyRing { get }
  /// In a batch, records of inputs with sequences are decided before those of others, and input after input: so the
  /// order of a batch's records follows from the ranges that its row keeps (I4).
  var inputs: [InputDeclaration] { get }
  /// Topics with sequences that the service writes.
  var outputs: [String] { get }
  /// The watermarks on its outputs tell a time. Without, they tell the last sequence alone, so that a lost record is
  /// missed even if none follows.
  var publishesWatermarks: Bool { get }

  /// Whether a batch changes rows that batches of other partitions change, too: no transaction has two of these.
  static func changesSharedRows(_ effects: Effects) -> Bool

  /// Adds what a committed batch counts.
  static func count(_ effects: Effects, into counts: inout [CountKey: CountSums])

  /// A decoder for one reading thread, made at the start.
  ///
  /// - Throws: `CryptoError` where libcrypto lacks what reading needs.
  func makeDecoder() throws(CryptoError) -> Decoder

  /// The watermark message of an output; nil where the topic has none.
  func watermarkMessage(_ watermark: Watermark, output: Int, partition: Int32) -> OutgoingMessage?
}

extension PipelineService {
  package static func changesSharedRows(_ effects: Effects) -> Bool { false }
}

/// Turns bytes into events; pure but for what it caches. One is used by one thread.
public protocol RecordDecoder<Event> {
  associatedtype Event: Sendable

  mutating func begin()
  /// The record's key, before it is decoded: what it points to lasts until then.
  mutating func key(_ key: UnsafeRawBufferPointer?)
  mutating func header(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?)

  /// Decodes a record that holds one event.
  mutating func decode(
    input: Int, value: UnsafeRawBufferPointer?, arrival: Timestamp
  ) -> (event: Event, sequence: RecordSequence)

  /// Decodes a record and appends its event, or those of the run that it holds. For records of one event there is one way
  /// to do that, below; it is a requirement so that it is compiled where the event's type is known.
  mutating func decode(_ record: UndecodedRecord, value: UnsafeRawBufferPointer?, into batch: inout InputBatch<Event>)
}

/// A record whose headers were handed to the decoder.
public struct UndecodedRecord: Hashable, Sendable {
  public var input: Int
  public var arrival: Timestamp
  public var identity: RecordIdentity
  public var raw: RawRange

  public init(input: Int, arrival: Timestamp, identity: RecordIdentity, raw: RawRange) {
    self.input = input
    self.arrival = arrival
    self.identity = identity
    self.raw = raw
  }
}

extension RecordDecoder {
  /// Most records' keys say nothing that is not in their value.
  public mutating func key(_ key: UnsafeRawBufferPointer?) {}

  @inlinable
  public mutating func decode(
    _ record: UndecodedRecord, value: UnsafeRawBufferPointer?, into batch: inout InputBatch<Event>
  ) {
    let decoded = decode(input: record.input, value: value, arrival: record.arrival)
    batch.append(InputRecord(record, sequence: decoded.sequence, event: decoded.event))
  }
}

/// The decisions of one partition: state in memory and pure functions of (state, batch, what the database knows, now).
package protocol PartitionDecider<Service> {
  associatedtype Service: PipelineService

  /// What these records, or the timers that are due, need from the database; nil when nothing.
  func query(for records: [InputRecord<Service.Event>], context: BatchContext) -> Service.Query?

  /// How many of these records, from the first on, one batch may decide: so many that what the tables know of them has
  /// room in memory. At least 1; all, unless a record may make the tables tell much.
  func countTogether(_ records: ArraySlice<InputRecord<Service.Event>>) -> Int

  /// Decides the records in order. The state moves on as if the batch were committed.
  mutating func decide(
    _ records: [InputRecord<Service.Event>], knowing knowledge: Service.Knowledge?, context: BatchContext
  ) -> BatchDecision<Service.Effects>

  /// Takes the last decision back because its commit failed. False: the state cannot, and is loaded again.
  mutating func revert() -> Bool

  /// The commit of the last decision succeeded.
  ///
  /// - Returns: what is answered to what the commit made of it. Like the decision's own answers nobody keeps it: whoever
  ///   misses it asks again.
  mutating func committed(_ result: CommitResult) -> [OutgoingMessage]

  /// Whether something is due that needs a batch of its own although nothing was read.
  func isTimerDue(_ context: BatchContext) -> Bool

  /// How many such batches may follow each other as long as something is due.
  static var timerBatchesMaximum: Int { get }
}

extension PartitionDecider {
  package func query(for records: [InputRecord<Service.Event>], context: BatchContext) -> Service.Query? { nil }
  package func countTogether(_ records: ArraySlice<InputRecord<Service.Event>>) -> Int { records.count }
  package mutating func revert() -> Bool { false }
  package mutating func committed(_ result: CommitResult) -> [OutgoingMessage] { [] }
  package func isTimerDue(_ context: BatchContext) -> Bool { false }
  package static var timerBatchesMaximum: Int { 1 }
}

/// What a decision may depend on besides records and state.
package struct BatchContext: Sendable {
  package var partition: Int32
  /// How many partitions the topics have: a token that names another does not name one.
  package var partitionCount: Int32
  package var now: Timestamp
  package var batchNumber: Int64
  /// Per output: the sequence that its next message gets.
  package var nextSequences: [Int64]
  /// The partition's watermark before this batch: no record counts as having arrived earlier.
  package var committedWatermark: Timestamp
  /// The partition's watermark once this batch is committed.
  package var watermark: Timestamp
  /// Per input: the watermark taken from it, the records of this batch included.
  package var consumedWatermarks: [Timestamp]
  /// Why the database refused this one record, in its words: it is to be put aside, not decided. Nil where it did not.
  package var refusal: String?
  /// Ids of this batch exist already: ask for all of them.
  package var isDuplicateSuspected: Bool
  /// Which of the things that are due without a record this batch may do.
  package var timer: TimerQuota

  package init(
    partition: Int32, partitionCount: Int32, now: Timestamp, batchNumber: Int64, nextSequences: [Int64],
    committedWatermark: Timestamp, watermark: Timestamp, consumedWatermarks: [Timestamp], refusal: String? = nil,
    isDuplicateSuspected: Bool, timer: TimerQuota = TimerQuota()
  ) {
    self.partition = partition
    self.partitionCount = partitionCount
    self.now = now
    self.batchNumber = batchNumber
    self.nextSequences = nextSequences
    self.committedWatermark = committedWatermark
    self.watermark = watermark
    self.consumedWatermarks = consumedWatermarks
    self.refusal = refusal
    self.isDuplicateSuspected = isDuplicateSuspected
    self.timer = timer
  }

  package var isRefused: Bool { refusal != nil }
}

/// Of what is due without a record, in its fixed order: how many things are passed over, because the database refused
/// them, and how many may be done at most. Less than everything only after a refusal.
package struct TimerQuota: Hashable, Sendable {
  package var skipped = 0
  package var maximum = Int.max

  /// Nothing: the batch is not a timer's.
  package static let nothing = TimerQuota(skipped: 0, maximum: 0)

  package init(skipped: Int = 0, maximum: Int = .max) {
    self.skipped = skipped
    self.maximum = maximum
  }

  /// This part of `due`, and no more than `most` of it.
  package func of<Items: RandomAccessCollection>(_ due: Items, most: Int = .max) -> Items.SubSequence {
    due.dropFirst(skipped).prefix(min(maximum, most))
  }
}

/// What a partition decided about a batch.
package struct BatchDecision<Effects: Sendable>: Sendable {
  /// One for each record, in order.
  package var outcomes: [Outcome]
  package var effects: Effects
  /// In the order of their sequences, from ``BatchContext/nextSequences`` on, without a gap.
  package var messages: [NumberedMessage]
  /// Sent once after the commit, never again by itself: answers.
  package var answers: [OutgoingMessage]
  package var forwards: [Forward]
  package var rejections: [Rejection]

  package init(outcomes: [Outcome], effects: Effects) {
    self.outcomes = outcomes
    self.effects = effects
    messages = []
    answers = []
    forwards = []
    rejections = []
  }

  /// A record that belongs to another partition: its original bytes go there, with `headers` added.
  package struct Forward: Hashable, Sendable {
    package var record: Int
    package var topic: String
    package var partition: Int32
    package var headers: [RecordHeader]

    package init(record: Int, topic: String, partition: Int32, headers: [RecordHeader]) {
      self.record = record
      self.topic = topic
      self.partition = partition
      self.headers = headers
    }
  }

  /// A record that is rejected; its outcome says so too.
  package struct Rejection: Hashable, Sendable {
    package var record: Int
    package var reason: RejectionReason
    package var detail: String

    package init(record: Int, reason: RejectionReason, detail: String) {
      self.record = record
      self.reason = reason
      self.detail = detail
    }
  }

  /// Rejects the record at `index`.
  package mutating func reject(_ index: Int, _ reason: RejectionReason, _ detail: String) {
    outcomes[index] = .rejected(reason)
    rejections.append(Rejection(record: index, reason: reason, detail: detail))
  }

  /// Rejects what is too large to be sent on: a record that no producer takes could never leave the outbox.
  mutating func refuseLargeForwards<Event>(of records: [InputRecord<Event>]) {
    func isTooLarge(_ forward: Forward) -> Bool {
      records[forward.record].raw.byteCount > PipelineLimits.forwardedBytesMaximum
    }
    guard forwards.contains(where: isTooLarge) else { return }
    let refused = forwards.filter(isTooLarge)
    forwards.removeAll(where: isTooLarge)
    for forward in refused {
      reject(
        forward.record, .tooLarge,
        "with key and headers it has more than \(PipelineLimits.forwardedBytesMaximum) bytes; it cannot be sent on")
    }
  }
}
