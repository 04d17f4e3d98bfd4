internal import AdCore
internal import ClickTrackingCore
internal import PipelineHost
internal import Postgres
internal import Runtime

/// The stored conversions of these ads.
struct FindConversions: PostgresStatement {
  static let isPrepared = false
  static let sql = """
    SELECT serve_id, is_test, kind, id_hash FROM click_tracking.conversion
    WHERE serve_id = ANY ($1) AND serve_id BETWEEN $2 AND $3 AND partition = $4
    """
  let partition: Int32
  let serves: [ServeID]

  var parameters: [any PostgresValue] {
    let bounds = IDBounds(serves)
    return [serves, bounds.lowest, bounds.highest, partition]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (ad: ConvertedAd, identity: ConversionIdentity) {
    (
      ConvertedAd(serveID: try row.decode(0), isTest: try row.decode(1)),
      ConversionIdentity(kind: try row.decode(2), idHash: try row.decode(3))
    )
  }
}
