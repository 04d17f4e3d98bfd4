package import AdCore
package import Postgres
internal import Runtime

/// SQL that finds the rows of some batches of a partition. The batch rows say by which keys they are found (``RowKeys``), and
/// that is asked first (``BatchRows``, ``SequenceRows``): the planner spares the tables of other days by keys that it knows
/// when it plans, and by no others.
package enum SequenceBatches {
  /// The rows of the batches after `$2` up to `$3`, to stand behind FROM; `$1` to `$6` are the first of
  /// ``BatchRows/parameters``.
  ///
  /// - Parameter table: one that has `serve_id`, or a view of it.
  package static func counted(rowsOf table: String) -> String {
    counted(
      """
      (SELECT * FROM \(table) WHERE (serve_id BETWEEN $4 AND $5 OR serve_id = ANY ($6)) AND partition = $1) AS found
      """)
  }

  /// The same of rows that lie in tables of their own or many in one, as two functions of the schema give them:
  /// `stored_…` those between two ids, and `keyed_…` those of rows and packs that are named. Such a pack may reach over
  /// `$4`, and what of it lies above is found between the two.
  ///
  /// - Parameter rows: what both functions' names end with.
  package static func counted(packed rows: String, in schema: String) -> String {
    counted(
      """
      (
        SELECT * FROM \(schema).stored_\(rows)($4, $5)
        UNION ALL SELECT * FROM \(schema).keyed_\(rows)($1, $6) WHERE serve_id < $4
      ) AS found
      """)
  }

  /// - Parameter source: what gives the rows with these keys, perhaps with others of the partition.
  package static func counted(_ source: String) -> String {
    "(SELECT * FROM \(source) WHERE partition = $1 AND batch_number > $2 AND batch_number <= $3) AS stored"
  }

  /// `FROM … LIMIT $3`: the rows of ``SequenceRows/parameters``, with their terms. Each row's are looked up by their name:
  /// the planner expects few rows, and joined otherwise it compares each with all terms.
  package static func rows(of table: String, in schema: String) -> String {
    """
    FROM \(schema).\(table) AS stored LEFT JOIN LATERAL (
      SELECT public.time_of(stored.serve_id) + life_ms * interval '1 millisecond' AS expires_at, app, developer,
        advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points
      FROM \(schema).terms WHERE name = stored.terms OFFSET 0
    ) AS named ON true
    WHERE partition = $1 AND sequence >= $2 AND batch_number BETWEEN $4 AND $5
      AND (serve_id BETWEEN $6 AND $7 OR serve_id = ANY ($8))
    ORDER BY sequence LIMIT $3
    """
  }
}

/// The rows of a partition's batches after one up to another.
package struct BatchRows: Sendable {
  let partition: Int32
  let after: Int64
  let upTo: Int64
  /// Of rows by serve id; nil where the batches have none.
  private(set) var serves: RowKeys?
  /// Of rows by request id: requests are made within a time of the arrival of what tells of them.
  private(set) var requests = IDBounds([])

  /// `$1` to `$8` of statements that count rows again.
  package var parameters: [any PostgresValue] {
    [partition, after, upTo] + RowKeys.parameters(serves) + [requests.lowest, requests.highest]
  }

  package static func find(
    _ partition: Int32, after: Int64, upTo: Int64, schema: String, windows: Windows,
    in connection: PostgresConnection
  ) throws(PostgresError) -> BatchRows {
    let sql = """
      WITH batches AS (
        SELECT first_arrival, last_arrival, first_serve_id, last_serve_id, recent_serve_id, named_serve_ids
        FROM \(schema).batch WHERE partition = $1 AND batch_number > $2 AND batch_number <= $3
      )
      SELECT (SELECT min(first_arrival) FROM batches), (SELECT max(last_arrival) FROM batches), \(RowKeys.columns)
      """
    var rows = BatchRows(partition: partition, after: after, upTo: upTo)
    guard let row = try connection.query(sql, [partition, after, upTo]).first else { return rows }
    rows.serves = try RowKeys(row, from: 2)
    if let first: Timestamp = try row.decode(0), let last: Timestamp = try row.decode(1) {
      let distance = windows.issuedBeforeArrivalMilliseconds
      rows.requests = IDBounds(
        from: first.advanced(byMilliseconds: -distance), to: last.advanced(byMilliseconds: distance))
    }
    return rows
  }
}

/// The rows of a partition from a sequence on: of the first batch that gave it or a later one, and of those after it that gave
/// no more than the next `limit`. Who is far behind reads no row twice.
package struct SequenceRows: Sendable {
  let partition: Int32
  let from: Int64
  let limit: Int
  let batches: ClosedRange<Int64>
  let keys: RowKeys?
  /// The sequence behind those batches.
  let next: Int64

  /// `$1` to `$8` of ``SequenceBatches/rows(of:in:)``.
  package var parameters: [any PostgresValue] {
    [partition, from, Int64(limit), batches.lowerBound, batches.upperBound] + RowKeys.parameters(keys)
  }

  /// - Returns: nil where no batch gave such a sequence.
  package static func find(
    _ partition: Int32, from sequence: Int64, limit: Int, schema: String, in connection: PostgresConnection
  ) throws(PostgresError) -> SequenceRows? {
    let sql = """
      WITH first_batch AS (
        SELECT next_sequences[1] AS next FROM \(schema).batch
        WHERE partition = $1 AND next_sequences[1] > $2 AND next_sequences[1] > first_sequences[1]
        ORDER BY next_sequences[1] LIMIT 1
      ), batches AS (
        SELECT batch_number, next_sequences, first_serve_id, last_serve_id, recent_serve_id, named_serve_ids
        FROM \(schema).batch
        WHERE partition = $1 AND next_sequences[1] > $2 AND next_sequences[1] > first_sequences[1]
          AND next_sequences[1] <= (SELECT next FROM first_batch) + $3
      )
      SELECT (SELECT min(batch_number) FROM batches), (SELECT max(batch_number) FROM batches),
        (SELECT max(next_sequences[1]) FROM batches), \(RowKeys.columns)
      """
    guard let row = try connection.query(sql, [partition, sequence, Int64(limit)]).first,
      let first: Int64 = try row.decode(0)
    else { return nil }
    return SequenceRows(
      partition: partition, from: sequence, limit: limit, batches: first...(try row.decode(1)),
      keys: try RowKeys(row, from: 3), next: try row.decode(2))
  }
}
