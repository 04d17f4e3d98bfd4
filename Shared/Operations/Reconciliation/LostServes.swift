package import AdCore
package import JSON
package import Postgres
internal import Runtime

/// Ads that were served by decisions which the database has lost: what a person has accepted when a timeline was begun.
package struct LostServes: Hashable, Sendable {
  /// Which timeline, from 2.
  package let timeline: Int64
  package let begunAt: Timestamp
  package let reason: String
  /// Events that were told of such ads, and accepted by the trackers.
  package let impressions: Int64
  package let clicks: Int64
  /// Those of them that wait for a person (`handbill traffic`).
  package let held: Int64

  package var text: String {
    "timeline \(timeline), begun at \(begunAt.utcText) (\(reason)): of ads whose decision is lost "
      + "\(TextTable.grouped(impressions)) impressions and \(TextTable.grouped(clicks)) clicks were accepted, "
      + "\(TextTable.grouped(held)) of them are held"
  }

  package var json: JSONValue {
    [
      "timeline": .integer(timeline), "begunAt": .text(begunAt.utcText), "reason": .text(reason),
      "impressions": .integer(impressions), "clicks": .integer(clicks), "held": .integer(held),
    ]
  }

  /// One for each timeline but the first, in their order. Looks at rows that are not sealed.
  package static func read(in connection: PostgresConnection) throws(PostgresError) -> [LostServes] {
    let sql = """
      WITH served AS (
        SELECT timeline, partition, greatest(first_id, (SELECT public.first_uuid_at(open_from) FROM sealed.head)) AS first_id,
          next_id
        FROM timeline.lost_serve
      ), lost AS (
        SELECT s.timeline, e.kind, e.is_held FROM served s CROSS JOIN LATERAL (
          SELECT i.serve_id, \(ChargeKind.impression.number) AS kind, false AS is_held
          FROM impression_tracking.impression_row i
          WHERE i.partition = s.partition AND i.serve_id >= s.first_id AND i.serve_id < s.next_id
          UNION ALL
          SELECT c.serve_id, \(ChargeKind.click.number), false FROM click_tracking.click_row c
          WHERE c.partition = s.partition AND c.serve_id >= s.first_id AND c.serve_id < s.next_id
          UNION ALL
          SELECT h.serve_id, h.kind, true FROM billing.held_row h
          WHERE h.partition = s.partition AND h.serve_id >= s.first_id AND h.serve_id < s.next_id
        ) AS e
        WHERE NOT EXISTS (
          SELECT FROM ad_selection.stored_decisions(e.serve_id, e.serve_id) d WHERE d.partition = s.partition)
      )
      SELECT t.number::bigint, t.begun_at, t.reason,
        count(*) FILTER (WHERE NOT l.is_held AND l.kind = \(ChargeKind.impression.number)),
        count(*) FILTER (WHERE NOT l.is_held AND l.kind = \(ChargeKind.click.number)), count(*) FILTER (WHERE l.is_held)
      FROM timeline.timeline t LEFT JOIN lost l ON l.timeline = t.number WHERE t.number > 1
      GROUP BY t.number, t.begun_at, t.reason ORDER BY t.number
      """
    var all: [LostServes] = []
    for row in try connection.query(sql) {
      all.append(
        LostServes(
          timeline: try row.decode(0), begunAt: try row.decode(1), reason: try row.decode(2),
          impressions: try row.decode(3), clicks: try row.decode(4), held: try row.decode(5)))
    }
    return all
  }
}
