internal import AdCore
internal import Postgres
internal import Runtime

/// Which ads of a partition were served by decisions that are lost: few ranges, and of those only what can still have events.
struct ReadLostServes: PostgresStatement {
  static let sql = """
    SELECT first_id, next_id FROM timeline.lost_serve
    WHERE partition = $1 AND next_id > public.first_uuid_at(now() - interval '72 hours') ORDER BY first_id
    """
  let partition: Int32

  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Range<ServeID> {
    let (first, next): (PostgresUUID, PostgresUUID) = (try row.decode(0), try row.decode(1))
    return ServeID(asWritten: first.high, low: first.low)..<ServeID(asWritten: next.high, low: next.low)
  }
}
