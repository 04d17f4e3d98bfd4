internal import AdCore
internal import JSON
internal import Kafka
internal import Pipeline
internal import Postgres
internal import Runtime

/// Where a service stands in the logs of its inputs, and how a person moves it.
///
/// Each change is made under the fence, as a batch without records: it raises the epoch, so whoever owns the partition
/// gives it up and opens it again, and takes the next batch number, so that the change has its place in the order.
struct LogPositions {
  /// One input of one partition.
  struct StoredInput: Sendable {
    let partition: Int32
    let topic: String
    let position: InputPosition
  }

  /// What was done with one input.
  struct Result: Sendable {
    let service: String
    let topic: String
    let partition: Int32
    /// `accepted`, or `replaced` where it is only told; `same`, `at the start`, `skipped`.
    let outcome: String
    let detail: String

    var json: JSONValue {
      [
        "detail": .text(detail), "outcome": .text(outcome), "partition": .integer(partition),
        "service": .text(service), "topic": .text(topic),
      ]
    }
  }

  let service: PipelineSchema
  let connection: PostgresConnection
  private var schema: String { service.schema }

  init(service: PipelineSchema, connection: PostgresConnection) {
    self.service = service
    self.connection = connection
  }

  /// The stored positions, by topic and partition.
  func inputs() throws(PostgresError) -> [StoredInput] {
    let sql = """
      SELECT partition, topic, next_offset, last_offset, last_timestamp, last_hash, consumed_sequence, consumed_watermark
      FROM \(schema).input ORDER BY topic, partition
      """
    var inputs: [StoredInput] = []
    for row in try connection.query(sql) {
      var last: RecordIdentity?
      if let offset: Int64 = try row.decode(3), let timestamp: Int64 = try row.decode(4),
        let hash: UInt64 = try row.decode(5)
      {
        last = RecordIdentity(offset: offset, timestamp: timestamp, contentHash: hash)
      }
      let position = InputPosition(
        nextOffset: try row.decode(2), last: last, consumedSequence: try row.decode(6),
        consumedWatermark: try row.decode(7))
      inputs.append(StoredInput(partition: try row.decode(0), topic: try row.decode(1), position: position))
    }
    return inputs
  }

  /// Goes on at `firstOffset` of the log, the first that was not read. The sequences taken stay; `isSequenced` asks the
  /// producing service, through the table `gap_request`, to publish again from the first one not taken.
  func accept(_ input: StoredInput, firstOffset: Int64, isSequenced: Bool) throws(PostgresError) {
    try connection.transaction { connection throws(PostgresError) in
      try move(input, to: firstOffset, in: connection)
      if isSequenced { try askAgain(input, from: input.position.consumedSequence + 1, in: connection) }
    }
  }

  /// Asks the producing service to publish `input`'s topic again from `sequence` on.
  func askAgain(_ input: StoredInput, from sequence: Int64) throws(PostgresError) {
    try askAgain(input, from: sequence, in: connection)
  }

  /// Records the offsets as lost and goes on behind them.
  func skip(_ input: StoredInput, _ offsets: Range<Int64>, detail: String) throws(PostgresError) {
    try connection.transaction { connection throws(PostgresError) in
      let number = try move(input, to: offsets.upperBound, in: connection)
      _ = try connection.execute(
        sql: """
          INSERT INTO \(schema).lost_range (partition, topic, first_offset, next_offset, batch_number, detail)
          VALUES ($1, $2, $3, $4, $5, $6)
          """,
        [input.partition, input.topic, offsets.lowerBound, offsets.upperBound, number, detail])
    }
  }

  private func askAgain(
    _ input: StoredInput, from sequence: Int64, in connection: PostgresConnection
  ) throws(PostgresError) {
    _ = try connection.query(
      "SELECT pipeline.request_gap($1, $2, $3, $4)", [schema, input.partition, input.topic, sequence])
  }

  /// - Returns: the number of the batch that the move is.
  @discardableResult
  private func move(
    _ input: StoredInput, to offset: Int64, in connection: PostgresConnection
  ) throws(PostgresError) -> Int64 {
    _ = try connection.execute(sql: "SET LOCAL lock_timeout = '5s'")
    let rows = try connection.query(
      """
      UPDATE \(schema).partition SET epoch = pipeline.next_epoch(epoch), batch_number = batch_number + 1 WHERE partition = $1
      RETURNING batch_number
      """, [input.partition])
    guard let row = rows.first else { throw PostgresError(.undecodable, "the partition's row is not there") }
    let number: Int64 = try row.decode(0)
    // Whoever decided meanwhile has moved the position: then nothing may be changed by what was seen before.
    let moved = try connection.execute(
      sql: """
        UPDATE \(schema).partition SET next_offsets = moved.next_offsets, last_offsets = moved.last_offsets,
          last_timestamps = moved.last_timestamps, last_hashes = moved.last_hashes
        FROM (
          SELECT array_agg(CASE topic WHEN $2 THEN $4 ELSE next_offset END ORDER BY place) AS next_offsets,
            array_agg(CASE topic WHEN $2 THEN NULL ELSE last_offset END ORDER BY place) AS last_offsets,
            array_agg(CASE topic WHEN $2 THEN NULL ELSE last_timestamp END ORDER BY place) AS last_timestamps,
            array_agg(CASE topic WHEN $2 THEN NULL ELSE last_hash END ORDER BY place) AS last_hashes,
            bool_or(topic = $2 AND next_offset = $3) AS stands
          FROM \(schema).input WHERE partition = $1
        ) AS moved
        WHERE partition.partition = $1 AND moved.stands
        """, [input.partition, input.topic, input.position.nextOffset, offset])
    guard moved == 1 else {
      throw PostgresError(.undecodable, "\(input.topic)[\(input.partition)] moved meanwhile; look again")
    }
    _ = try connection.query("SELECT public.add_empty_batch($1, $2, $3)", [schema, input.partition, number])
    return number
  }
}
