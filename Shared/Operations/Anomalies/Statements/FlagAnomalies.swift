internal import AdCore
internal import Postgres
internal import Runtime

/// Flags the hours in which a share is beyond its limit, from the counts by app and hour. Of live traffic only: test ads are
/// tapped by developers.
struct FlagAnomalies: PostgresStatement {
  /// A plan for any moment would read the tables of all times.
  static let isPrepared = false
  static let sql = """
    INSERT INTO console.anomaly AS known (app, hour, kind, events, of_events, limit_basis_points)
    SELECT q.app, q.hour, s.kind, s.events, s.of_events, l.basis_points
    FROM (
      SELECT *, impossible_views + impossible_clicks AS impossible, gross_impressions + gross_clicks AS told
      FROM reporting.traffic_quality WHERE hour >= $1 AND NOT is_test
    ) AS q
    CROSS JOIN LATERAL (VALUES
      (\(AnomalyKind.clickRate.number)::smallint, q.net_clicks, q.net_impressions),
      (\(AnomalyKind.repeats.number), q.repeats, q.gross_clicks),
      (\(AnomalyKind.tooEarly.number), q.too_early, q.gross_clicks),
      (\(AnomalyKind.accidental.number), q.accidental, q.gross_clicks),
      (\(AnomalyKind.limited.number), q.limited, q.gross_clicks),
      (\(AnomalyKind.impossible.number), q.impossible, q.told)
    ) AS s (kind, events, of_events)
    JOIN unnest($2::smallint[], $3::int[]) AS l (kind, basis_points) ON l.kind = s.kind
    WHERE s.of_events >= $4
      AND s.events::numeric * 10000 > s.of_events::numeric * l.basis_points
    ON CONFLICT (hour, app, kind) DO UPDATE SET events = excluded.events, of_events = excluded.of_events,
      limit_basis_points = excluded.limit_basis_points, changed_at = now()
    WHERE (known.events, known.of_events, known.limit_basis_points)
      IS DISTINCT FROM (excluded.events, excluded.of_events, excluded.limit_basis_points)
    """
  let since: Timestamp
  let limits: AnomalyLimits

  var parameters: [any PostgresValue] {
    let kinds = limits.basisPoints.keys.sorted { $0.rawValue < $1.rawValue }
    return [
      since, kinds.map(\.rawValue), kinds.map { Int32(clamping: limits.basisPoints[$0] ?? 0) },
      Int64(limits.eventsMinimum),
    ]
  }
}
