import AdCore
import Postgres
import Runtime
import TestValues

/// Rows that a bare binary COPY writes, over one connection, in transactions of 20,000 rows that were encoded before the
/// clock starts: what nothing that keeps rows in PostgreSQL can do without.
struct RowCopy {
  private static let batchRows = 20_000
  /// Rows of the reference that are copied at once, whatever is compared with it: for some seconds, since the pace of the
  /// first half second says more of this machine's disk and memory than of COPY.
  private static let referenceRows = 2_000_000

  /// A table with a key, the columns that are copied into it, and how many bytes a row is likely to need.
  private struct Target {
    let table: String
    let definition: String
    let key: String
    let columns: [String]
    let rowBytes: Int
  }

  private let databaseURL: String
  private let target: Target
  private let batches: [TableRows]
  private let rowCount: Int

  /// The row that every figure of this project is compared with, whatever its own rows become: a uuid, four int8, a
  /// timestamptz, an int8, an int4 and two int2, 100 bytes.
  static func reference(databaseURL: String) -> RowCopy {
    var random = SeededChance(seed: 1)
    let target = Target(
      table: "reference",
      definition: """
        id uuid NOT NULL, a bigint NOT NULL, b bigint NOT NULL, c bigint NOT NULL, d bigint NOT NULL,
        at timestamptz NOT NULL, e bigint NOT NULL, f int NOT NULL, g smallint NOT NULL, h smallint NOT NULL
        """, key: "id", columns: ["id", "a", "b", "c", "d", "at", "e", "f", "g", "h"], rowBytes: 150)
    return RowCopy(databaseURL: databaseURL, target: target, rows: referenceRows) { row, buffer in
      // As UUIDs of version 7 do, the key grows.
      buffer.append(uuidHigh: UInt64(row), low: random.next())
      for _ in 0..<4 { buffer.append(int64: Int64(truncatingIfNeeded: random.next())) }
      buffer.append(timestampMicroseconds: Timestamp.sample.milliseconds * 1_000 + Int64(row))
      buffer.append(int64: Int64(row))
      buffer.append(int32: Int32(truncatingIfNeeded: row))
      for _ in 0..<2 { buffer.append(int16: Int16(truncatingIfNeeded: random.next())) }
    }
  }

  /// The rows that impression tracking makes of `terms`.
  static func impressions(databaseURL: String, terms: [ServedTerms]) -> RowCopy {
    let target = Target(
      table: "bare", definition: "LIKE impression_tracking.impression_row", key: "serve_id",
      columns: ServeColumns.names + ["batch_number", "sequence", "event_time", "arrival"], rowBytes: 192)
    return RowCopy(databaseURL: databaseURL, target: target, rows: terms.count) { row, buffer in
      ServeColumns.append(terms[row], terms: FrozenTerms(terms[row]).name, to: buffer)
      buffer.append(int64: Int64(row / batchRows))
      buffer.append(int64: Int64(row))
      buffer.append(timestampMicroseconds: terms[row].issuedAt.milliseconds * 1_000 + 1_000_000)
      buffer.append(timestampMicroseconds: terms[row].issuedAt.milliseconds * 1_000 + 2_000_000)
    }
  }

  private init(databaseURL: String, target: Target, rows count: Int, append: (_ row: Int, CopyBuffer) -> Void) {
    (self.databaseURL, self.target, rowCount) = (databaseURL, target, count)
    let columns = TableColumns(target.table, target.columns)
    batches = stride(from: 0, to: count, by: Self.batchRows).map { start in
      let rows = TableRows(columns, capacity: Self.batchRows * target.rowBytes)
      for row in start..<min(start + Self.batchRows, count) {
        rows.begin()
        append(row, rows.buffer)
      }
      return rows
    }
  }

  /// Rows per second into an empty table, with or without a primary key.
  func rate(withKey: Bool) throws -> Double {
    let connection = try PostgresConnection(PostgresConfiguration(databaseURL))
    defer { connection.close() }
    try connection.executeScript(
      """
      DROP TABLE IF EXISTS \(target.table);
      CREATE TABLE \(target.table) (\(target.definition));
      \(withKey ? "ALTER TABLE \(target.table) ADD PRIMARY KEY (\(target.key));" : "")
      CHECKPOINT;
      """)
    let time = try seconds {
      for rows in batches {
        try connection.begin()
        _ = try connection.copy(rows)
        try connection.commit()
      }
    }
    return Double(rowCount) / time
  }
}
