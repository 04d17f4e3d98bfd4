internal import AdCore
internal import AdEvents
internal import Postgres
internal import Runtime

/// Reports of closed allotments from a sequence on, in order.
struct ReadReports: PostgresStatement {
  struct Report {
    let sequence: Int64
    let campaign: CampaignID
    let report: AllotmentReport
  }

  static let sql = """
    SELECT report_sequence, campaign, id, used, closed_at, used_for_clicks FROM ad_selection.allotment
    WHERE partition = $1 AND report_sequence >= $2 ORDER BY report_sequence LIMIT $3
    """
  let partition: Int32
  let from: Int64
  let limit: Int

  var parameters: [any PostgresValue] { [partition, from, Int64(limit)] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Report {
    Report(
      sequence: try row.decode(0), campaign: try row.decode(1),
      report: AllotmentReport(
        allotment: try row.decode(2), used: try row.decode(3), usedForClicks: try row.decode(5),
        closedAt: try row.decode(4)))
  }
}
