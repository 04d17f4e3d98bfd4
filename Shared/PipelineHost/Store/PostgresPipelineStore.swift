package import AdCore
package import Pipeline
package import Postgres
internal import Runtime

/// A service's tables in PostgreSQL: the bookkeeping of the pipeline, the same for every service, around the service's
/// own rows. One store has one connection and one thread.
package final class PostgresPipelineStore<Tables: ServiceTables>: PipelineStore {
  package typealias Service = Tables.Service
  let tables: Tables
  let inputTopics: [String]
  let outputTopics: [String]
  let sql = PipelineStatements(schema: Service.schema)
  private let configuration: PostgresConfiguration
  private let insertedRowsMaximum: Int
  private let takeCounts: (CountStore<Tables>.Flush) -> Void
  private let terms = TermsBook(schema: Service.schema)
  private var connection: PostgresConnection?
  /// Counts the connections that were made.
  private var connectionNumber = 0
  /// On which connection each partition was taken over.
  private var acquiredOn: [Int32: Int] = [:]

  /// - Parameters:
  ///   - insertedRowsMaximum: a transaction with more rows than this sends them by COPY.
  ///   - takeCounts: has counts written, and tells the partition.
  package init(
    tables: Tables, service: Service, configuration: PostgresConfiguration,
    insertedRowsMaximum: Int = PipelineSettings.insertedRowsMaximumDefault,
    takeCounts: @escaping (CountStore<Tables>.Flush) -> Void
  ) {
    self.tables = tables
    self.takeCounts = takeCounts
    self.insertedRowsMaximum = insertedRowsMaximum
    self.configuration = configuration
    inputTopics = service.inputs.map(\.topic)
    outputTopics = service.outputs
  }

  /// Connects ahead of the first question; where this fails, that one tries again.
  package func connect() { connection = try? PostgresConnection(configuration) }

  package func close() {
    connection?.close()
    connection = nil
  }

  // MARK: Taking over

  package func acquire(_ partition: Int32, by claim: PartitionClaim) throws(PipelineError) -> PartitionPosition {
    let position: PartitionPosition? = try perform([]) { connection throws(PostgresError) in
      do throws(PostgresError) {
        return try raiseEpoch(partition, by: claim, in: connection)
      } catch {
        guard error.sqlState == "55P03" else { throw error }
        // The owner's session holds the row and does not go on: a stopped zombie. Only this frees its locks.
        _ = try connection.query(sql.terminateOwner, claim.parameters(partition))
        return try raiseEpoch(partition, by: claim, in: connection)
      }
    }
    guard let position else { throw .fenced }
    acquiredOn[partition] = connectionNumber
    return position
  }

  /// In two round trips: the positions are those of the row that the epoch was just raised in, whose lock no earlier owner
  /// passes any more. Nobody waits for the disk: what this owner commits is durable only with the epoch,
  /// which lies before it in the server's log; a crash that takes the epoch away takes the owner's session, too.
  ///
  /// - Returns: nil when the claim does not hold.
  private func raiseEpoch(
    _ partition: Int32, by claim: PartitionClaim, in connection: PostgresConnection
  ) throws(PostgresError) -> PartitionPosition? {
    do throws(PostgresError) {
      var raise = StatementBatch()
      raise.begin()
      _ = raise.send(sql: "SET LOCAL lock_timeout = '1s'", [])
      _ = raise.send(sql: "SET LOCAL synchronous_commit = off", [])
      _ = raise.send(sql: sql.ensurePartition, [partition])
      let owner = raise.send(sql: sql.raiseEpoch, claim.parameters(partition))
      let history = HistoryQuery(partition, service: Service.schema, topics: inputTopics, sql, in: &raise)
      let results = try connection.run(raise)
      var position: PartitionPosition?
      var end = StatementBatch()
      // A claim that was refused decides nothing.
      if let row = try results.rows(at: owner).first {
        let stored = try StoredPositions(row, from: 5)
        let (inputs, outputs) = (stored.inputs(inputTopics), stored.outputs(outputTopics))
        position = PartitionPosition(
          epoch: try row.decode(0), batchNumber: try row.decode(1), watermark: try row.decode(2), inputs: inputs,
          outputs: outputs, outboxID: try row.decode(3),
          history: try history.read(results, ofPartition: try row.decode(4)))
        if !stored.areOf(inputs: inputTopics, outputs: outputTopics) {
          _ = end.send(
            sql: sql.placePositions,
            [partition, inputTopics, outputTopics] + PositionColumns.parameters(inputs: inputs, outputs: outputs))
        }
        let kept = WindowSettings.stored(tables.windows)
        _ = end.send(sql: sql.keepWindows, [Service.schema, partition, kept.map(\.name), kept.map(\.milliseconds)])
      }
      end.commit()
      try connection.run(end)
      if position != nil { Failpoint.reach(.afterFence) }
      return position
    } catch {
      if connection.isUsable { try? connection.rollback() }
      throw error
    }
  }

  package func load(_ partition: Int32, now: Timestamp) throws(PipelineError) -> Service.Decider {
    try perform([partition]) { connection throws(PostgresError) in
      let decider = try tables.load(partition, now: now, from: connection)
      Failpoint.reach(.duringLoad)
      return decider
    }
  }

  package func lookUp(_ query: Service.Query, partition: Int32) throws(PipelineError) -> Service.Knowledge {
    try perform([partition]) { connection throws(PostgresError) in
      try tables.lookUp(query, partition: partition, in: connection)
    }
  }

  // MARK: Batches

  package func commit(_ batches: [CommitBatch<Service>]) throws(PipelineError) -> Result<[CommitResult], RowRefusal> {
    Failpoint.reach(.afterDecide)
    guard batches.count == 1 || isConnected(to: batches.map(\.partition)) else {
      return .failure(.refused("one of the partitions was taken over on another connection"))
    }
    return try perform(batches.map(\.partition)) { connection throws(PostgresError) in
      let written: Written
      do throws(PostgresError) { written = try write(batches, in: connection) } catch {
        if connection.isUsable, connection.isInTransaction { try connection.rollback() }
        if let refusal = RowRefusal(error) { return .failure(refusal) }
        // The server answered, and rolled back what all of them were in: whose trouble it is, each by itself shows.
        guard batches.count > 1, connection.isUsable else { throw error }
        return .failure(.refused(error.description))
      }
      // Behind the commit: an answer that cannot be read is no refusal.
      var results: [CommitResult] = []
      for reader in written.readers { results.append(try reader(written.answers)) }
      return .success(results)
    }
  }

  /// What is committed, and who reads the answers to it, batch by batch.
  private struct Written {
    let answers: StatementBatchResults
    let readers: [CommitReader]
  }

  private func write(
    _ batches: [CommitBatch<Service>], in connection: PostgresConnection
  ) throws(PostgresError) -> Written {
    terms.begin()
    let rows = batches.map { tables.rows($0, terms: terms) }
    try terms.store(in: connection)
    var statements = StatementBatch()
    statements.begin()
    // Everybody who locks several partitions' rows does it in this order.
    for (batch, rows) in zip(batches, rows).sorted(by: { $0.0.partition < $1.0.partition }) {
      let keys = BatchKeys(rows, time: batch.arrivals?.upperBound ?? batch.committedAt)
      statements.send(prepared: sql.beginBatch, beginParameters(batch, keys))
    }
    let joined = TableRows.joined(rows)
    for table in joined { table.sortByServe() }
    if joined.reduce(0, { $0 + $1.count }) <= insertedRowsMaximum {
      for table in joined { statements.insert(table) }
    } else {
      _ = try connection.run(statements)
      for table in joined { try connection.copy(table) }
      statements = StatementBatch()
    }
    var readers: [CommitReader] = []
    for batch in batches {
      addRareRows(batch, with: &statements)
      readers.append(tables.finish(batch, terms: terms, with: &statements))
    }
    statements.commit()
    Failpoint.reach(.beforeCommit)
    let answers = try connection.run(statements)
    Failpoint.reach(.afterCommit)
    return Written(answers: answers, readers: readers)
  }

  /// - Parameter keys: where the batch's rows are looked for later.
  private func beginParameters(_ batch: CommitBatch<Service>, _ keys: BatchKeys?) -> [any PostgresValue] {
    let fence: [any PostgresValue] = [
      batch.partition, batch.epoch, batch.number - 1, batch.number, batch.watermark, batch.outbox.last?.id ?? 0,
    ]
    let row: [any PostgresValue] = [
      batch.committedAt, batch.arrivals?.lowerBound, batch.arrivals?.upperBound, inputTopics,
      batch.inputs.map(\.firstOffset), outputTopics, batch.outputs.map(\.firstSequence), batch.outcomes,
      batch.rejectedNotKept,
    ]
    return fence
      + PositionColumns.parameters(inputs: batch.inputs.map(\.position), outputs: batch.outputs.map(\.position)) + row
      + BatchKeys.parameters(keys)
  }

  private func addRareRows(_ batch: CommitBatch<Service>, with statements: inout StatementBatch) {
    for row in batch.rejections {
      _ = statements.send(
        sql: sql.addRejected,
        [
          batch.partition, inputTopics[row.input], row.offset, batch.number, row.arrival, Int16(row.reason),
          row.detail, row.value, row.valueLength, row.valueHash, row.key, row.headers?.names,
          row.headers?.values,
        ])
    }
    for entry in batch.outbox {
      let message = entry.message
      _ = statements.send(
        sql: sql.addOutbox,
        [
          batch.partition, entry.id, message.topic, message.partition, message.key, message.value,
          message.headers.names, message.headers.values,
        ])
    }
    for range in batch.lost {
      _ = statements.send(
        sql: sql.addLost,
        [
          batch.partition, inputTopics[range.input], range.offsets.lowerBound, range.offsets.upperBound, batch.number,
          range.detail,
        ])
    }
    addUpkeep(
      partition: batch.partition, gapRequests: batch.gapRequests, delivered: batch.deliveredOutbox, answered: [],
      lost: batch.lostSequences, with: &statements)
  }

  /// What a transaction writes besides its rows: gap requests and answers to others', what was delivered, what is lost.
  private func addUpkeep(
    partition: Int32, gapRequests: [GapRequest], delivered: [Int64], answered: [ReceivedGapRequest],
    lost: [LostSequences], with statements: inout StatementBatch
  ) {
    if !delivered.isEmpty { _ = statements.send(sql: sql.removeOutbox, [partition, delivered]) }
    for request in gapRequests {
      _ = statements.send(
        sql: sql.addGapRequest, [Service.schema, partition, inputTopics[request.input], request.sequence])
    }
    for request in answered {
      _ = statements.send(
        sql: sql.answerGapRequest, [request.consumer, partition, outputTopics[request.output], request.number])
    }
    for range in lost {
      _ = statements.send(
        sql: sql.addLostSequences,
        [partition, outputTopics[range.output], range.sequences.lowerBound, range.sequences.upperBound])
    }
  }

  package func flush(_ counts: CountStore<Tables>.Flush) { takeCounts(counts) }

  package func save(_ checkpoint: Checkpoint) throws(PipelineError) {
    try perform([checkpoint.partition]) { connection throws(PostgresError) in
      do throws(PostgresError) {
        var statements = StatementBatch()
        statements.begin()
        statements.send(
          prepared: sql.saveCheckpoint,
          [
            checkpoint.partition, checkpoint.epoch, checkpoint.batchNumber, checkpoint.watermark,
            checkpoint.consumedWatermarks, checkpoint.confirmed,
          ])
        addUpkeep(
          partition: checkpoint.partition, gapRequests: checkpoint.gapRequests, delivered: checkpoint.deliveredOutbox,
          answered: checkpoint.answeredGapRequests, lost: checkpoint.lostSequences, with: &statements)
        statements.commit()
        _ = try connection.run(statements)
      } catch {
        if connection.isUsable, connection.isInTransaction { try connection.rollback() }
        throw error
      }
    }
  }

  /// Whether all of them were taken over on the last connection that there was.
  private func isConnected(to partitions: [Int32]) -> Bool {
    partitions.allSatisfy { acquiredOn[$0] == connectionNumber }
  }

  /// Runs `body` on the connection, made anew where it is gone, and says what a failure means for the partition. Behind
  /// another connection may be another database, as after a restore: a partition is taken over again there, before
  /// anything else is done in it.
  ///
  /// - Parameter partitions: none to take one over.
  func perform<Value>(
    _ partitions: [Int32], _ body: (PostgresConnection) throws(PostgresError) -> Value
  ) throws(PipelineError) -> Value {
    do throws(PostgresError) {
      let connection: PostgresConnection
      if let known = self.connection { connection = known } else { connection = try PostgresConnection(configuration) }
      self.connection = connection
      if !connection.isUsable {
        try connection.reconnect()
        terms.forget()
        connectionNumber += 1
      }
      if isConnected(to: partitions) { return try body(connection) }
    } catch {
      throw PipelineError(error)
    }
    throw .databaseUnavailable("the connection is another one than that on which the partition was taken over")
  }
}
