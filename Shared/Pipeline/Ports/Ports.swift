package import AdCore

/// Where messages are published. Sending returns at once; what was delivered is told to the partition later by
/// ``PartitionPipeline/delivered(_:)``. A writer that fails to deliver one message delivers none after it until the
/// partition is told by ``PartitionPipeline/writerRebuilt()``, so deliveries are always a prefix of what was sent.
package protocol TopicWriter {
  /// - Throws: ``PipelineError/producerUnavailable(_:)`` when the writer has failed and is being rebuilt; the message was
  ///   not taken.
  func send(_ message: OutgoingMessage, receipt: Receipt?) throws(PipelineError)
}

/// What a delivery report says was delivered.
package struct Receipt: Hashable, Sendable {
  package enum Content: Hashable, Sendable {
    case numbered(output: Int, sequence: Int64)
    case outbox(id: Int64)
  }

  package var partition: Int32
  package var content: Content

  package init(partition: Int32, content: Content) {
    self.partition = partition
    self.content = content
  }
}

/// A service's tables: its results and its position are committed together or not at all. One store is used by one
/// thread.
package protocol PipelineStore<Service> {
  associatedtype Service: PipelineService

  /// Raises the partition's epoch, which fences whoever had it, and reads where it stands.
  ///
  /// - Throws: ``PipelineError/fenced`` when the claim no longer holds.
  func acquire(_ partition: Int32, by claim: PartitionClaim) throws(PipelineError) -> PartitionPosition

  /// The state that the service keeps in memory for the partition, from its tables.
  func load(_ partition: Int32, now: Timestamp) throws(PipelineError) -> Service.Decider

  /// Answers what a batch must know before it is decided.
  func lookUp(_ query: Service.Query, partition: Int32) throws(PipelineError) -> Service.Knowledge

  /// Commits batches, each of another partition, in one transaction that begins with their fences. What only the database
  /// could decide comes back, of each, or that it refuses the rows. Of several, whatever it answers in place of committing
  /// them is a refusal: nothing was committed, and each by itself shows whose trouble it is.
  func commit(_ batches: [CommitBatch<Service>]) throws(PipelineError) -> Result<[CommitResult], RowRefusal>

  /// Takes counts to be written apart from batches, until they are or somebody else has counted, and returns at once:
  /// ``PartitionPipeline/counted(_:)`` is told. One partition's come into the table in the order in which they were given.
  func flush(_ counts: CountFlush<Service.CountKey, Service.CountSums>)

  /// Commits what has no record and no effect: the watermark, what was delivered, what is missing. Fenced like a batch.
  func save(_ checkpoint: Checkpoint) throws(PipelineError)

  /// Messages of an output from `sequence` on, in order, at most `limit`, made again from the rows of the results.
  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int
  ) throws(PipelineError) -> [NumberedMessage]

  /// What the outbox still holds of the entries behind `id`, oldest first, at most `limit`.
  func outbox(_ partition: Int32, after id: Int64, limit: Int) throws(PipelineError) -> [OutboxEntry]

  /// Sequences that consumers of this service's outputs miss and that were not yet answered.
  func gapRequests(_ partition: Int32) throws(PipelineError) -> [ReceivedGapRequest]

  /// By input with sequences: how far the service that writes it has come in the partition, as its rows say.
  func writers(_ partition: Int32) throws(PipelineError) -> [Int: WriterStanding]

  /// The partition stops, for everybody, until a person has decided.
  func note(finding: String, partition: Int32, epoch: Int64) throws(PipelineError)
}

/// A consumer's word that it misses `sequence` of an output.
package struct ReceivedGapRequest: Hashable, Sendable {
  /// Which consumer's table says so, and the row's number there: each row is answered once.
  package var consumer: String
  package var number: Int64
  package var output: Int
  package var sequence: Int64

  package init(consumer: String, number: Int64, output: Int, sequence: Int64) {
    self.consumer = consumer
    self.number = number
    self.output = output
    self.sequence = sequence
  }
}
