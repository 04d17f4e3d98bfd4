internal import AdCore
internal import ClickTrackingCore
internal import Postgres
internal import Runtime

/// The stored conversions of these ads.
struct FindConversions: PostgresStatement {
  static let sql = """
    SELECT serve_id, kind, id_hash FROM click_tracking.conversion
    WHERE serve_id = ANY ($1) AND serve_id BETWEEN $2 AND $3 AND partition = $4
    """
  let partition: Int32
  let serves: [ServeID]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(serves)
    return [serves, bounds.lowest, bounds.highest, partition]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (serve: ServeID, identity: ConversionIdentity) {
    (try row.decode(0), ConversionIdentity(kind: try row.decode(1), idHash: try row.decode(2)))
  }
}
