internal import AdCore
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// The clicks that wait of these clients, and of those whose clicks wait on these ads, in the order in which they came. How
/// many of a client are judged in a day bounds how many can wait; the limit of the statement keeps the plan at one look into
/// the index for each client.
struct FindWaitingClicks: PostgresStatement {
  private static let columns = TermsColumns.names.map { "waiting.\($0)" }.joined(separator: ", ")
  static let sql = """
    SELECT id_hash, is_accidental, event_time, arrival, batch_number, record_offset, \(columns)
    FROM (
      SELECT * FROM unnest($1::bigint[], $2::boolean[]) AS client (client_hash, is_test)
      UNION
      SELECT client_hash, is_test FROM click_tracking.parked_row WHERE serve_id = ANY ($3) AND partition = $4
    ) AS asked,
    LATERAL (
      SELECT * FROM click_tracking.parked AS stored
      WHERE stored.client_hash = asked.client_hash AND stored.is_test = asked.is_test AND stored.partition = $4
      LIMIT 10000
    ) AS waiting
    ORDER BY batch_number, record_offset
    """
  let partition: Int32
  let clients: [ClickClient]
  let serves: [ServeID]

  var parameters: [any PostgresValue] { [clients.map(\.hash), clients.map(\.isTest), serves, partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> ParkedClick {
    ParkedClick(
      terms: try TermsColumns.decode(row, from: 6), idHash: try row.decode(0), eventTime: try row.decode(2),
      arrival: try row.decode(3), isAccidental: try row.decode(1),
      position: ClickPosition(batchNumber: try row.decode(4), offset: try row.decode(5)))
  }
}
