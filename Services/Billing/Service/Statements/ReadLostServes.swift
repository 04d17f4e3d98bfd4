internal import AdCore
internal import AdEvents
internal import BillingCore
internal import Postgres
internal import Runtime

/// Which ads of a partition were served by decisions that are lost: of all ranges those that can still have events. By the
/// trackers' watermarks, not by the clock: after a standstill events come that are as old as it was long.
struct ReadLostServes: PostgresStatement {
  static let sql = """
    SELECT first_id, next_id FROM timeline.lost_serve
    WHERE partition = $1 AND next_id > (
      SELECT public.first_uuid_at(greatest(min(i.consumed_watermark) - interval '\(AppHour.keptHours) hours', 'epoch'))
      FROM billing.input i
      WHERE i.partition = $1 AND i.topic IN ('\(Topic.acceptedImpressions.name)', '\(Topic.acceptedClicks.name)'))
    ORDER BY first_id
    """
  let partition: Int32

  var parameters: [any PostgresValue] { [partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Range<ServeID> {
    let (first, next): (PostgresUUID, PostgresUUID) = (try row.decode(0), try row.decode(1))
    return ServeID(asWritten: first.high, low: first.low)..<ServeID(asWritten: next.high, low: next.low)
  }
}
