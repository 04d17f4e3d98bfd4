package import Pipeline
package import Postgres

/// Writes counts of partitions, each flush in a transaction of its own, on a connection of its own. Used by one thread.
package final class CountStore<Tables: ServiceTables> {
  package typealias Service = Tables.Service
  package typealias Flush = CountFlush<Service.CountKey, Service.CountSums>

  private let tables: Tables
  private let sql = CountStatements(schema: Service.schema)
  private let configuration: PostgresConfiguration
  private let insertedRowsMaximum: Int
  private var connection: PostgresConnection?

  /// - Parameter insertedRowsMaximum: a flush with more rows than this sends them packed, by COPY.
  package init(
    tables: Tables, configuration: PostgresConfiguration,
    insertedRowsMaximum: Int = PipelineSettings.insertedRowsMaximumDefault
  ) {
    self.tables = tables
    var configuration = configuration
    // A crash of the server that takes counts away takes along that the batches are counted: they are counted again. So no
    // flush makes batches wait for the disk.
    configuration.sessionSettings["synchronous_commit"] = "off"
    self.configuration = configuration
    self.insertedRowsMaximum = insertedRowsMaximum
  }

  package func close() {
    connection?.close()
    connection = nil
  }

  /// Writes a flush; false where somebody else has counted.
  ///
  /// - Throws: when nothing was written, or nobody knows. It may be tried again in either case, and is written once.
  package func write(_ flush: Flush) throws(PostgresError) -> Bool {
    let connection = try connected()
    do throws(PostgresError) {
      let from: Int64
      switch flush.content {
      case .collected(_, let after): from = after
      case .stored:
        from = try counted(flush.partition, in: connection)
        guard from < flush.upTo else { return from == flush.upTo }
      }
      try write(flush, after: from, in: connection)
      return true
    } catch {
      if connection.isUsable, connection.isInTransaction { try connection.rollback() }
      guard error.isCountedElsewhere else { throw error }
      // It may have been this very flush, whose COMMIT was not answered.
      return try counted(flush.partition, in: connection) == flush.upTo
    }
  }

  /// The rows first; what others may wait for last, together with COMMIT.
  private func write(_ flush: Flush, after from: Int64, in connection: PostgresConnection) throws(PostgresError) {
    var statements = StatementBatch()
    statements.begin()
    switch flush.content {
    case .collected(let counts, _):
      let rows = tables.countRows(counts, partition: flush.partition)
      if rows.count <= insertedRowsMaximum {
        statements.insert(rows)
      } else {
        try connection.run(statements)
        try connection.copy(rows.packed())
        statements = StatementBatch()
      }
      tables.finishCounts(counts, partition: flush.partition, with: &statements)
    case .stored:
      let rows = try BatchRows.find(
        flush.partition, after: from, upTo: flush.upTo, schema: Service.schema, windows: tables.windows, in: connection)
      for statement in Tables.countAgain { _ = statements.send(sql: statement, rows.parameters) }
    }
    statements.send(prepared: sql.moveOn, [flush.partition, from, flush.upTo, flush.epoch])
    statements.commit()
    try connection.run(statements)
  }

  /// Up to which batch the partition is counted.
  private func counted(_ partition: Int32, in connection: PostgresConnection) throws(PostgresError) -> Int64 {
    var statements = StatementBatch()
    statements.send(prepared: sql.ensure, [partition])
    let index = statements.send(prepared: sql.counted, [partition])
    return try connection.run(statements).rows(at: index).first?.decode(0) ?? 0
  }

  private func connected() throws(PostgresError) -> PostgresConnection {
    let connection: PostgresConnection
    if let known = self.connection { connection = known } else { connection = try PostgresConnection(configuration) }
    self.connection = connection
    if !connection.isUsable { try connection.reconnect() }
    return connection
  }
}

/// The SQL around counts for one service. The schema's name is one of ours, never input.
private struct CountStatements: Sendable {
  let schema: String

  var ensure: String { "INSERT INTO \(schema).counted (partition, batch_number) VALUES ($1, 0) ON CONFLICT DO NOTHING" }

  var counted: String { "SELECT batch_number FROM \(schema).counted WHERE partition = $1" }

  /// An error (``PostgresError/isCountedElsewhere``) unless the partition stands at batch $2, has its owner still, and its
  /// batches are there: a restored database may lack those that were counted, and whoever has it then gives others their
  /// numbers.
  var moveOn: String {
    """
    WITH moved AS (
      UPDATE \(schema).counted SET batch_number = $3 WHERE partition = $1 AND batch_number = $2
        AND EXISTS (SELECT FROM \(schema).partition WHERE partition = $1 AND epoch = $4 AND batch_number >= $3) RETURNING 1
    )
    SELECT public.hold_counted(0) WHERE NOT EXISTS (SELECT FROM moved)
    """
  }
}

extension PostgresError {
  /// The SQLSTATE that `hold_counted` gives where a partition is counted up to another batch than was expected.
  fileprivate var isCountedElsewhere: Bool { sqlState == "HB005" }
}
