internal import AdCore
internal import Postgres

/// The open days, cut into pieces that are compared in a moment each.
enum ServePieces {
  /// Of the largest of a day's tables: about 200,000 rows.
  private static let pieceBytes: Int64 = 64 << 20
  /// So many packed rows are as large as one by itself.
  private static let packedRows = 4
  private static let dayMilliseconds: Int64 = 86_400_000
  private static let piecesOfDayMaximum: Int64 = 288
  /// Whose rows are compared serve by serve.
  static let tables = [
    "ad_selection.decision_row", "ad_selection.decision_pack", "impression_tracking.impression_row",
    "click_tracking.click_row", "billing.charge_row", "billing.charge_pack",
  ]

  /// All serves of the day that begins then.
  static func day(_ from: Int64) -> ServeRange { ServeRange(from: from, to: from + dayMilliseconds) }

  static func pieces(_ range: ServeRange, bytes: Int64) -> [ServeRange] {
    let count = min(max(bytes / pieceBytes, 1), piecesOfDayMaximum)
    let length = range.to - range.from
    return (0..<count).map { index in
      ServeRange(from: range.from + length * index / count, to: range.from + length * (index + 1) / count)
    }
  }

  /// Days that have tables, and how large the largest of them is; of a table of several days, its part of one.
  static func days(
    from first: Int64, of tables: [String] = tables, in connection: PostgresConnection
  ) throws(PostgresError) -> [(from: Int64, bytes: Int64)] {
    let sql = """
      SELECT (d.first + n - date '1970-01-01')::bigint * 86400000 AS first,
        max(pg_relation_size(d.part) / (d.next - d.first)
          * CASE WHEN parent.name::text ~ '_pack$' THEN \(packedRows) ELSE 1 END)::bigint
      FROM unnest($1::text[]::regclass[]) AS parent (name) CROSS JOIN LATERAL public.day_tables(parent.name) AS d
        CROSS JOIN LATERAL generate_series(0, d.next - d.first - 1) AS n
      WHERE (d.first + n - date '1970-01-01')::bigint * 86400000 >= $2
      GROUP BY 1 ORDER BY 1
      """
    var days: [(from: Int64, bytes: Int64)] = []
    for row in try connection.query(sql, [tables, first]) {
      days.append((from: try row.decode(0), bytes: try row.decode(1) ?? 0))
    }
    return days
  }
}
