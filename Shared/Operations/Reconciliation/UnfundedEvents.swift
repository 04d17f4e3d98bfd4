internal import AdCore
package import Postgres
internal import Runtime

/// How many events no budget could pay (B4): of the days that were open when it was asked first, and since. It does not fall
/// when a day is sealed, so that whoever sees it rise knows of new ones; and what was sealed before is never read.
package struct UnfundedEvents: Sendable {
  /// Up to where everything was sealed when it was asked last; nil before.
  private var border: Timestamp?
  /// Those of minutes that were sealed since it was asked first.
  private var sealed: Int64 = 0

  package init() {}

  /// - Parameter connection: in a snapshot.
  package mutating func count(in connection: PostgresConnection) throws(PostgresError) -> Int64 {
    let openFrom = try SealedHead.read(in: connection).openFrom
    // Where the border lies further back than before, the database is another one's backup.
    if let border, border > openFrom { self = UnfundedEvents() }
    let sql = """
      SELECT coalesce(sum(events) FILTER (WHERE minute < $2), 0)::bigint,
        coalesce(sum(events) FILTER (WHERE minute >= $2), 0)::bigint
      FROM billing.all_revenue WHERE fate = \(ChargeFate.unfunded.number) AND minute >= $1
      """
    let row = try connection.query(sql, [(border ?? openFrom).postgres, openFrom.postgres])[0]
    let open: Int64 = try row.decode(1)
    sealed += try row.decode(0, Int64.self)
    border = openFrom
    return sealed + open
  }
}
