package import AdCore
package import Pipeline
package import Postgres

/// What a service knows about its own tables; the rest of a store is the same for all (``PostgresPipelineStore``).
package protocol ServiceTables<Service>: Sendable {
  associatedtype Service: PipelineService

  /// Services that consume this one's outputs: their gap requests are answered.
  var consumers: [String] { get }

  /// What the service decides by; stored with each partition that it takes, for whoever judges its rows later.
  var windows: Windows { get }

  /// The state of a partition from the tables, at its assignment or after a batch that could not be taken back.
  func load(_ partition: Int32, now: Timestamp, from connection: PostgresConnection) throws(PostgresError)
    -> Service.Decider

  /// Answers what a batch must know before it is decided.
  func lookUp(_ query: Service.Query, partition: Int32, in connection: PostgresConnection) throws(PostgresError)
    -> Service.Knowledge

  /// A batch's rows, table by table; stored inside the transaction, after the fences, with those of the other batches in it.
  ///
  /// - Parameter terms: names the terms of their serves.
  func rows(_ batch: CommitBatch<Service>, terms: TermsBook) -> [TableRows]

  /// Adds the statements that go with COMMIT in one round trip, changes of shared rows last; the returned function
  /// reads their answers.
  ///
  /// - Parameter terms: knows the names of the terms that ``rows(_:terms:)`` has named for this batch.
  func finish(
    _ batch: CommitBatch<Service>, terms: TermsBook, with statements: inout StatementBatch
  ) -> CommitReader

  /// Counts of a partition as rows of their table: what they add, beside what is there.
  func countRows(_ counts: [Service.CountKey: Service.CountSums], partition: Int32) -> TableRows

  /// Adds what counts change elsewhere, in rows that nobody but the partition changes.
  func finishCounts(
    _ counts: [Service.CountKey: Service.CountSums], partition: Int32, with statements: inout StatementBatch)

  /// SQL that appends the counts of a partition from the rows of some of its batches, by ``BatchRows/parameters``: the same
  /// rows, or what adds up to the same.
  static var countAgain: [String] { get }

  /// Messages of an output from `sequence` on, in order, at most `limit`, made from the rows. None only where there is
  /// no such row any more: the pipeline then takes all that is left as lost.
  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int, in connection: PostgresConnection
  ) throws(PostgresError) -> [NumberedMessage]
}

/// Reads what the statements of a commit answered.
package typealias CommitReader = (StatementBatchResults) throws(PostgresError) -> CommitResult

extension ServiceTables {
  package var consumers: [String] { [] }

  package func finishCounts(
    _ counts: [Service.CountKey: Service.CountSums], partition: Int32, with statements: inout StatementBatch
  ) {}

  /// Nothing but the rows.
  package func finish(
    _ batch: CommitBatch<Service>, terms: TermsBook, with statements: inout StatementBatch
  ) -> CommitReader {
    { (_: StatementBatchResults) throws(PostgresError) -> CommitResult in CommitResult() }
  }
}

extension ServiceTables {
  /// The rows of the batches that hold a sequence, as `read` reads them. Where retention took those, it is asked for those of
  /// the next ones.
  package func rows<Row>(
    partition: Int32, from sequence: Int64, limit: Int, in connection: PostgresConnection,
    read: (SequenceRows) throws(PostgresError) -> [Row]
  ) throws(PostgresError) -> [Row] {
    var from = sequence
    while let stored = try SequenceRows.find(
      partition, from: from, limit: limit, schema: Service.schema, in: connection)
    {
      let rows = try read(stored)
      guard rows.isEmpty, stored.next > from else { return rows }
      from = stored.next
    }
    return []
  }
}

extension PipelineService {
  /// The service's schema in the database.
  package static var schema: String { String(name.map { $0 == "-" ? "_" : $0 }) }
}
