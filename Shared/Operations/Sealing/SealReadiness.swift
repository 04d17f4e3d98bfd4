internal import AdCore
internal import Postgres
internal import Runtime

/// Whether nothing of the serves before a moment can change any more.
enum SealReadiness {
  /// For clocks that differ, and whoever decides a little late.
  private static let marginMilliseconds: Int64 = 10 * 60_000

  /// When the last event of what was served before `until` has arrived, by the windows that were in force.
  static func lastArrival(_ until: Timestamp, _ windows: StoredWindows) -> Timestamp {
    let expiry = until.advanced(byMilliseconds: windows.longest.longestTokenLifeMilliseconds)
    return windows.longest.lastClickArrival(expiresAt: expiry).advanced(byMilliseconds: marginMilliseconds)
  }

  /// What is still to come, in words; empty where nothing is.
  static func obstacles(
    until: Timestamp, lastArrival: Timestamp, in connection: PostgresConnection
  ) throws(PostgresError) -> [String] {
    let next = ServeRange(from: until.milliseconds, to: until.milliseconds).parameters[0]
    let rows = try connection.query(sql, [next, until.postgres, lastArrival.postgres])
    var obstacles: [String] = []
    for row in rows { obstacles.append(try row.decode(0)) }
    return obstacles
  }

  /// $1 the first serve id behind, $2 its moment, $3 when the last event has arrived.
  private static let sql = """
    SELECT format('%s has not decided everything, in %s partitions', replace(service, '_', ' '), count(*)) FROM (
      \(PipelineChecks.services.map { "SELECT '\($0)' AS service, watermark FROM \($0).partition" }
        .joined(separator: " UNION ALL "))
    ) AS partitions WHERE service <> 'billing' AND watermark < $3 GROUP BY service
    UNION ALL
    SELECT format('%s has no partitions', replace(service, '_', ' ')) FROM (
      \(PipelineChecks.services.map { "SELECT '\($0)' AS service WHERE NOT EXISTS (SELECT FROM \($0).partition)" }
        .joined(separator: " UNION ALL "))
    ) AS empty
    UNION ALL
    SELECT format('%s has not taken all of %s, in %s partitions', consumer, topic, count(*)) FROM (
      \(edge("click_tracking", "ads.impressions.accepted", of: "impression_tracking"))
      UNION ALL \(edge("billing", "ads.impressions.accepted", of: "impression_tracking"))
      UNION ALL \(edge("billing", "ads.clicks.accepted", of: "click_tracking"))
    ) AS edges WHERE taken < $3 GROUP BY consumer, topic
    UNION ALL
    SELECT format('%s %s', rows, what) FROM (
      SELECT count(*) AS rows, 'clicks are parked' AS what FROM click_tracking.parked WHERE serve_id < $1
      UNION ALL SELECT count(*), 'events wait for budget' FROM billing.waiting WHERE serve_id < $1
      UNION ALL SELECT count(*), 'events are held' FROM billing.held_row WHERE serve_id < $1
      UNION ALL SELECT count(*), 'events are in suspense' FROM billing.suspense
        WHERE serve_id < $1 AND voided_at IS NULL
      UNION ALL SELECT count(*), 'allotments have not ended' FROM billing.allotment
        WHERE state < \(AllotmentState.ended.number) AND serve_until <= $2
    ) AS left_over WHERE rows > 0
    UNION ALL
    SELECT format('%s has batches that are not counted', replace(service, '_', ' ')) FROM (
      \(PipelineChecks.services.map { UncountedBatches.service($0, begun: "(first_serve_id < $1 OR first_arrival < $2)") }
        .joined(separator: " UNION ALL "))
    ) AS uncounted
    """

  private static func edge(_ consumer: String, _ topic: String, of producer: String) -> String {
    """
    SELECT '\(consumer.replacing("_", with: " "))' AS consumer, '\(topic)' AS topic,
        coalesce(i.consumed_watermark, 'epoch') AS taken FROM \(producer).partition p
      LEFT JOIN \(consumer).input i ON i.partition = p.partition AND i.topic = '\(topic)'
    """
  }
}
