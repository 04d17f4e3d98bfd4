internal import AdCore
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// The clicks of these clients that were judged, of ads served within each client's times. How many of a client are
/// judged in a day bounds how many there can be, however many somebody sends; the limit of the statement keeps the plan
/// at one look into each day's index for each client.
struct FindJudgedClicks: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT asked.client_hash, asked.is_test, judged.* FROM unnest($1::bigint[], $2::boolean[], $3::uuid[], $4::uuid[])
      AS asked (client_hash, is_test, first, last),
    LATERAL (
      SELECT serve_id, event_time, is_accidental, verdict = \(ClickVerdict.billable.number)
      FROM click_tracking.click_row AS stored
      WHERE stored.client_hash = asked.client_hash AND stored.serve_id BETWEEN asked.first AND asked.last
        AND stored.is_judged AND stored.is_test = asked.is_test AND stored.partition = $5
        AND stored.serve_id BETWEEN $6 AND $7
      LIMIT 10000
    ) AS judged
    """
  let partition: Int32
  /// With the times at which their ads were served.
  let clients: [ClickClient: ClosedRange<Timestamp>]

  var parameters: [any PostgresValue] {
    let asked = ClientColumns(clients)
    return [
      asked.hashes, asked.areTest, asked.first, asked.last, partition, asked.bounds.lowest, asked.bounds.highest,
    ]
  }

  static func decode(
    _ row: PostgresRow
  ) throws(PostgresError) -> (client: ClickClient, click: ClientClicks.Judged) {
    (
      ClickClient(hash: try row.decode(0), isTest: try row.decode(1)),
      ClientClicks.Judged(
        serveID: try row.decode(2), eventTime: try row.decode(3), isAccidental: try row.decode(4),
        isBillable: try row.decode(5))
    )
  }
}
