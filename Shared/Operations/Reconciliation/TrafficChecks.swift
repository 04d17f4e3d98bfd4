internal import AdCore

/// I7 and I8: accepted events, charges and served ads agree, and test traffic is nobody's money.
enum TrafficChecks {
  /// Of a range of serves: $1 and $2 as ``ServeRange`` says.
  static let ofServes = FateChecks.ofServes + [decisions]

  /// Further ones of a range of serves, which passes over what is new leave out.
  static let ofServesApart = [lives, testTraffic, finals, deliveries]

  /// Further ones of serves that are to be sealed.
  static let ofSealing = [
    consumption("impressions", rows: "impression_tracking.impressions($1, $2)"),
    consumption("clicks", rows: "click_tracking.clicks($1, $2)"),
  ]

  /// Sums of everything there is.
  static let sums = [
    keylessCounts,
    counts("requests", "ad_selection", "requests", countedRequests, "true"),
    counts(
      "impressions", "impression_tracking", "events", countedImpressions,
      "kind = \(RecordedKind.viewed.number)"),
    counts("clicks", "click_tracking", "events", countedClicks, "kind = \(TapKind.click.number)"),
  ]

  /// Requests of the batches that ad selection has counted: counts are written later than batches.
  private static let countedRequests = """
    (SELECT d.partition, d.app, d.is_test FROM ad_selection.outcomes($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') d
      JOIN ad_selection.counted c USING (partition)
      WHERE NOT ad_selection.is_without_app_key(d.reason) AND d.batch_number <= c.batch_number) AS counted_requests
    """

  /// Those without their app's key count for no app (M1, A1). Those beyond what is kept of them have no rows.
  private static let keylessCounts = ReconciliationStatement(
    rule: "M6", name: "requests without their app's key: counts per day are the rows",
    borders: [.serve],
    sql: """
      WITH stored AS (
        SELECT d.partition, public.day_of(d.serve_id) AS day, d.reason, count(*) AS rows
        FROM ad_selection.outcomes($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') d
        JOIN ad_selection.counted c USING (partition)
        WHERE ad_selection.is_without_app_key(d.reason) AND d.batch_number <= c.batch_number
        GROUP BY 1, 2, 3
      ), counted AS (
        SELECT partition, day, reason, requests AS counted FROM ad_selection.keyless_count
        WHERE day >= public.day_of($1) AND reason <> \(DecisionReason.keylessBeyondLimit.number)
      ), compared AS (
        SELECT partition, day, reason, coalesce(counted, 0) AS counted, coalesce(rows, 0) AS rows
        FROM counted FULL JOIN stored USING (partition, day, reason)
      ), faults AS (
        SELECT format('%s, reason %s, partition %s: %s counted, %s rows', day, reason, partition, counted, rows) AS example
        FROM compared WHERE counted <> rows
      )
      SELECT coalesce((SELECT sum(rows) FROM compared), 0)::bigint, (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  /// Impressions of the batches that impression tracking has counted.
  private static let countedImpressions = """
    (SELECT i.partition, i.app, i.is_test FROM impression_tracking.impressions($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') i
      JOIN impression_tracking.counted c USING (partition)
      WHERE i.batch_number <= c.batch_number) AS counted_impressions
    """

  /// Clicks of the batches that click tracking has counted.
  private static let countedClicks = """
    (SELECT k.partition, k.app, k.is_test FROM click_tracking.clicks($1, 'ffffffff-ffff-ffff-ffff-ffffffffffff') k
      JOIN click_tracking.counted c USING (partition)
      WHERE k.batch_number <= c.batch_number) AS counted_clicks
    """

  /// Billing has taken all of a range's accepted rows.
  private static func consumption(_ name: String, rows: String) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "I7a", name: "\(name): billing has taken what was accepted",
      sql: """
        WITH last AS (
          SELECT partition, count(*) AS rows, max(sequence) AS sequence FROM \(rows)
          WHERE serve_id >= $1 AND serve_id < $2 GROUP BY partition
        ), faults AS (
          SELECT format('partition %s: accepted up to %s, taken up to %s', l.partition, l.sequence, i.consumed_sequence)
            AS example
          FROM last l LEFT JOIN billing.input i ON i.partition = l.partition AND i.topic = 'ads.\(name).accepted'
          WHERE l.sequence > coalesce(i.consumed_sequence, 0)
        )
        SELECT coalesce((SELECT sum(rows) FROM last), 0)::bigint, (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }

  private static let terms = [
    "partition", "expires_at", "app", "developer", "advertiser", "campaign", "ad", "placement", "country", "device",
    "size", "impression_price", "click_price", "currency", "share_basis_points", "allotment", "budget_day",
    "is_test",
  ]

  /// Each accepted serve has its decision, with the same terms (I2), but for those whose decision a person has accepted to be
  /// lost. Whose client was erased on one side has still to be on the other, where its ad was in flight then (A8).
  private static let decisions: ReconciliationStatement = {
    let accepted = terms.map { "a.\($0)" }.joined(separator: ", ")
    let decided = terms.map { "d.\($0)" }.joined(separator: ", ")
    let columns = (["serve_id", "client_hash"] + terms).joined(separator: ", ")
    return ReconciliationStatement(
      rule: "I7b", name: "impressions and clicks: each accepted serve has one decision, with the same terms",
      sql: """
        WITH accepted AS (
          SELECT \(columns) FROM impression_tracking.impressions($1, $2) WHERE serve_id >= $1 AND serve_id < $2
          UNION ALL
          SELECT \(columns) FROM click_tracking.clicks($1, $2) WHERE serve_id >= $1 AND serve_id < $2
        ), compared AS (
          SELECT a.partition, a.serve_id, d.serve_id IS NULL AS is_unknown,
            d.reason NOT IN (\(DecisionReason.fills.numbers)) AS is_unfilled, (\(accepted)) IS DISTINCT FROM (\(decided))
            OR a.client_hash <> d.client_hash AND a.client_hash <> 0 AND d.client_hash <> 0 AS differs
          FROM accepted a LEFT JOIN ad_selection.decisions($1, $2) d
            ON d.serve_id = a.serve_id AND d.partition = a.partition AND d.serve_id >= $1 AND d.serve_id < $2
        ), faults AS (
          SELECT format('%s %s', serve_id, CASE WHEN is_unknown OR is_unfilled THEN 'has no decision'
            ELSE 'has other terms' END) AS example
          FROM compared AS c WHERE is_unfilled OR differs AND NOT is_unknown OR is_unknown AND NOT \(isInLostServes("c"))
        )
        SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }()

  /// Whether what has no decision was served by one that is lost, as a person has accepted.
  private static func isInLostServes(_ row: String) -> String {
    """
    EXISTS (SELECT FROM timeline.lost_serve l WHERE l.partition = \(row).partition AND \(row).serve_id >= l.first_id
      AND \(row).serve_id < l.next_id)
    """
  }

  /// Of the serves in a range whose impression can no longer arrive, by the windows that were in force for them: each was
  /// seen or has expired. The three numbers are counted apart.
  static let finals = ReconciliationStatement(
    rule: "I7c", name: "final serves = impressions + expired",
    sql: """
      WITH marks AS (
        SELECT w.partition, w.first_id, w.next_id, p.watermark - w.late AS mark
        FROM impression_tracking.late_window w JOIN impression_tracking.partition p USING (partition)
      ), served AS (
        SELECT d.serve_id, d.partition FROM ad_selection.outcomes($1, $2) d
        JOIN marks m ON m.partition = d.partition AND d.serve_id >= m.first_id AND d.serve_id < m.next_id
        WHERE d.serve_id >= $1 AND d.serve_id < $2 AND d.reason IN (\(DecisionReason.liveFills.numbers)) AND NOT d.is_test AND d.expires_at <= m.mark
      ), counts AS MATERIALIZED (
        SELECT (SELECT count(*) FROM served) AS served, (
          SELECT count(*) FROM impression_tracking.impressions($1, $2) i
          JOIN marks m ON m.partition = i.partition AND i.serve_id >= m.first_id AND i.serve_id < m.next_id
          WHERE i.serve_id >= $1 AND i.serve_id < $2 AND NOT i.is_test AND i.expires_at <= m.mark
            -- Decisions are looked through once, if anything of a range in which serves were lost is there at all.
            AND NOT (\(isInLostServes("i"))
              AND (i.serve_id, i.partition) NOT IN (SELECT o.serve_id, o.partition FROM ad_selection.outcomes($1, $2) o))
        ) AS seen, (
          SELECT count(*) FROM served s WHERE NOT EXISTS (
            SELECT FROM impression_tracking.impressions($1, $2) i
            WHERE i.serve_id = s.serve_id AND i.partition = s.partition AND i.serve_id >= $1 AND i.serve_id < $2)
        ) AS expired
      )
      SELECT served, abs(served - seen - expired), CASE WHEN served = seen + expired THEN '{}'::text[] ELSE
        ARRAY[format('%s served and final, %s seen, %s expired', served, seen, expired)] END FROM counts
      """)

  /// No impression lies after its ad's life, and no billable click is without its impression (M5).
  private static let lives = ReconciliationStatement(
    rule: "M5", name: "impressions lie in their ad's life, billable clicks have their impression",
    sql: """
      WITH faults AS (
        SELECT format('%s: seen at %s, its life ended at %s', serve_id, event_time, expires_at) AS example
        FROM impression_tracking.impressions($1, $2) WHERE serve_id >= $1 AND serve_id < $2 AND event_time > expires_at
        UNION ALL
        SELECT format('%s: a billable click without an impression', c.serve_id) FROM click_tracking.clicks($1, $2) c
        WHERE c.serve_id >= $1 AND c.serve_id < $2 AND c.verdict = \(ClickVerdict.billable.number) AND NOT EXISTS (
          SELECT FROM impression_tracking.impressions($1, $2) i
          WHERE i.serve_id = c.serve_id AND i.partition = c.partition AND i.serve_id >= $1 AND i.serve_id < $2)
      )
      SELECT (SELECT count(*) FROM impression_tracking.impressions($1, $2) WHERE serve_id >= $1 AND serve_id < $2) + (
          SELECT count(*) FROM click_tracking.clicks($1, $2)
          WHERE serve_id >= $1 AND serve_id < $2 AND verdict = \(ClickVerdict.billable.number)),
        (SELECT count(*) FROM faults), ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  /// What lies many in one row has no key that refuses a second one (M4).
  private static let deliveries = ReconciliationStatement(
    rule: "M4", name: "of each ad each kind of event is told once",
    sql: """
      WITH told AS (
        SELECT serve_id, kind, partition, count(*) AS times FROM impression_tracking.stored_deliveries($1, $2)
        WHERE serve_id >= $1 AND serve_id < $2 GROUP BY 1, 2, 3
      ), faults AS (
        SELECT format('%s: an event of kind %s stands %s times', serve_id, kind, times) AS example FROM told WHERE times > 1
      )
      SELECT coalesce((SELECT sum(times) FROM told), 0)::bigint, (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  private static let testTraffic = ReconciliationStatement(
    rule: "I8", name: "no charge is of test traffic",
    sql: """
      WITH faults AS (
        SELECT format('%s is test traffic and has a charge', c.serve_id) AS example
        FROM billing.stored_charges($1, $2) c JOIN ad_selection.outcomes($1, $2) d USING (serve_id, partition)
        WHERE d.is_test AND c.serve_id >= $1 AND c.serve_id < $2
          AND d.serve_id >= $1 AND d.serve_id < $2
      )
      SELECT (SELECT count(*) FROM billing.stored_charges($1, $2) WHERE serve_id >= $1 AND serve_id < $2), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)

  /// The counts per minute, on which all reports stand, are the rows themselves; and their rollups add up to as many.
  private static func counts(
    _ name: String, _ service: String, _ column: String, _ rows: String, _ condition: String
  ) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "M6", name: "\(name): counts per minute are the rows, and rolled up as many", borders: [.serve, .minute],
      sql: """
        WITH counted AS (
          SELECT partition, app, is_test, sum(\(column)) AS counted FROM \(service).all_count
          WHERE \(condition) AND minute >= $2 GROUP BY 1, 2, 3
        ), stored AS (
          SELECT partition, app, is_test, sum(rows) AS rows FROM (
            SELECT partition, app, is_test, count(*) AS rows FROM \(rows) GROUP BY 1, 2, 3
            UNION ALL
            SELECT partition, app, is_test, rows FROM sealed.count_ahead WHERE service = '\(service)'
          ) AS parts GROUP BY 1, 2, 3
        ), compared AS (
          SELECT partition, app, is_test, coalesce(counted, 0) AS counted, coalesce(rows, 0) AS rows
          FROM counted FULL JOIN stored USING (partition, app, is_test)
        ), rolled_up AS (
          SELECT value AS app, is_test, sum(\(column)) AS rolled_up FROM \(service).count_by_dimension
          WHERE dimension = 'app' AND \(condition) AND hour >= $2 GROUP BY 1, 2
        ), dimensions AS (
          SELECT dimension, sum(\(column)) AS rolled_up FROM \(service).count_by_dimension
          WHERE \(condition) AND hour >= $2 GROUP BY 1
        ), faults AS (
          SELECT format('%s, partition %s%s: %s counted, %s rows', app, partition,
            CASE WHEN is_test THEN ', test' ELSE '' END, counted, rows) AS example
          FROM compared WHERE counted <> rows
          UNION ALL
          SELECT format('%s%s: %s counted, %s rolled up', app, CASE WHEN is_test THEN ', test' ELSE '' END, counted, rolled_up)
          FROM (SELECT app, is_test, sum(counted) AS counted FROM counted GROUP BY 1, 2) AS c
            FULL JOIN rolled_up USING (app, is_test)
          WHERE counted IS DISTINCT FROM rolled_up
          UNION ALL
          SELECT format('by %s: %s rolled up, by app %s', d.dimension, d.rolled_up, a.rolled_up)
          FROM dimensions d JOIN dimensions a ON a.dimension = 'app' WHERE d.rolled_up <> a.rolled_up
        )
        SELECT coalesce((SELECT sum(rows) FROM compared), 0)::bigint, (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }
}
