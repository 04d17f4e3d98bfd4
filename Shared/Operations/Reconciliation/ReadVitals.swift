internal import AdCore
internal import Postgres
internal import Runtime

/// How far the services are, and what the database's clock says: one row for each step of the flow. A partition that has
/// not told yet ('epoch') is nobody's lag, but nothing is complete before it has.
struct ReadVitals: Sendable {
  struct Step: Sendable {
    let name: String
    /// The database's clock.
    let now: Timestamp
    /// Of the partition furthest behind, and of the one furthest on; nil when none has told.
    let least: Timestamp?
    let greatest: Timestamp?
    let hasEveryPartitionTold: Bool
  }

  static let sql = """
    SELECT name, clock_timestamp(), min(nullif(told, 'epoch')), max(nullif(told, 'epoch')),
      coalesce(bool_and(told > 'epoch'), false)
    FROM (
      SELECT 'impressions' AS name, watermark AS told FROM impression_tracking.partition
      UNION ALL SELECT 'clicks', watermark FROM click_tracking.partition
      UNION ALL SELECT 'revenue', consumed_watermark FROM billing.input
        WHERE topic IN ('ads.impressions.accepted', 'ads.clicks.accepted')
    ) AS partitions RIGHT JOIN unnest(ARRAY['impressions', 'clicks', 'revenue']) AS step (name) USING (name)
    GROUP BY name ORDER BY name
    """

  static func read(in connection: PostgresConnection) throws(PostgresError) -> [Step] {
    var steps: [Step] = []
    for row in try connection.query(sql) {
      steps.append(
        Step(
          name: try row.decode(0), now: try row.decode(1), least: try row.decode(2),
          greatest: try row.decode(3), hasEveryPartitionTold: try row.decode(4)))
    }
    return steps
  }

  /// How far the clocks of the services lie ahead of the database's, by the last batch of each partition, in milliseconds;
  /// 0 where none does. A clock that is behind cannot be told from a partition without traffic.
  static func aheadMilliseconds(in connection: PostgresConnection) throws(PostgresError) -> Int64 {
    try connection.query(aheadSQL).first?.decode(0) ?? 0
  }

  /// Each batch is looked up by its key, whatever joins are chosen for comparisons.
  static let aheadSQL: String = {
    let last = PipelineChecks.services.map { schema in
      """
      SELECT b.committed_at FROM \(schema).partition p CROSS JOIN LATERAL (
        SELECT committed_at FROM \(schema).batch WHERE partition = p.partition AND batch_number = p.batch_number OFFSET 0
      ) AS b
      """
    }
    return """
      SELECT greatest(0, coalesce(max(extract(epoch FROM committed_at - clock_timestamp()) * 1000), 0))::bigint
      FROM (\(last.joined(separator: " UNION ALL "))) AS last
      """
  }()
}
