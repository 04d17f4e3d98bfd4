internal import AdCore
internal import AdSelectionCore
internal import Postgres
internal import Runtime

/// Closes allotments, each with the sequence of its report.
struct CloseAllotments: PostgresStatement {
  static let sql = """
    UPDATE ad_selection.allotment SET closed_at = ended.closed_at, report_sequence = ended.sequence
    FROM unnest($2::bigint[], $3::timestamptz[], $4::bigint[]) AS ended (id, closed_at, sequence)
    WHERE allotment.id = ended.id AND allotment.partition = $1
    """
  let partition: Int32
  let closed: [SelectionEffects.ClosedAllotment]

  var parameters: [any PostgresValue] {
    [
      partition, closed.map(\.row.allotment), closed.map { $0.row.closedAt ?? $0.row.serveUntil },
      closed.map(\.sequence),
    ]
  }
}
