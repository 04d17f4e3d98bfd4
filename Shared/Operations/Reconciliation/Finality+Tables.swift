internal import AdCore
internal import Postgres

extension Finality {
  /// A serve is final once the watermark of impressions has passed the last moment at which one could arrive, by the
  /// windows that were in force for it. Where no tracker has noted its windows nothing is final, and nobody knows when.
  static func of(_ range: ServeRange, in connection: PostgresConnection) throws(PostgresError) -> Finality {
    let sql = """
      WITH serves AS (
        SELECT d.serve_id, d.expires_at + w.late AS final_at,
          coalesce(d.expires_at + w.late <= p.watermark, false) AS is_final, i.serve_id IS NOT NULL AS is_seen
        FROM ad_selection.outcomes($1, $2) d LEFT JOIN impression_tracking.impression_row i
          ON i.serve_id = d.serve_id AND i.partition = d.partition AND i.serve_id >= $1 AND i.serve_id < $2
        LEFT JOIN impression_tracking.partition p ON p.partition = d.partition
        LEFT JOIN impression_tracking.late_window w
          ON w.partition = d.partition AND d.serve_id >= w.first_id AND d.serve_id < w.next_id
        WHERE d.serve_id >= $1 AND d.serve_id < $2 AND d.reason IN (\(DecisionReason.liveFills.numbers)) AND NOT d.is_test
      )
      SELECT count(*), count(*) FILTER (WHERE is_final), count(*) FILTER (WHERE is_final AND is_seen),
        count(*) FILTER (WHERE is_final AND NOT is_seen), max(final_at) FILTER (WHERE NOT is_final) FROM serves
      """
    return try read(sql, range.parameters, connection)
  }

  /// All of whose serves are final.
  static func sealed(in connection: PostgresConnection) throws(PostgresError) -> Finality {
    let sql = """
      SELECT coalesce(sum(serves), 0)::bigint, coalesce(sum(serves), 0)::bigint, coalesce(sum(serves - expired), 0)::bigint,
        coalesce(sum(expired), 0)::bigint, NULL::timestamptz
      FROM sealed.partition
      """
    return try read(sql, [], connection)
  }

  private static func read(
    _ sql: String, _ parameters: [any PostgresValue], _ connection: PostgresConnection
  ) throws(PostgresError) -> Finality {
    guard let row = try connection.query(sql, parameters).first else {
      return Finality(serves: 0, final: 0, impressions: 0, expired: 0, finalBy: nil)
    }
    return Finality(
      serves: try row.decode(0), final: try row.decode(1), impressions: try row.decode(2), expired: try row.decode(3),
      finalBy: try row.decode(4))
  }

  mutating func add(_ other: Finality) {
    serves += other.serves
    final += other.final
    impressions += other.impressions
    expired += other.expired
    finalBy = [finalBy, other.finalBy].compactMap { $0 }.max()
  }
}
