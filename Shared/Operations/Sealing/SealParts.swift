internal import AdCore

/// What a day leaves when its rows go, as rows of `sealed.part`: of a piece of its serves ($1 and $2), or of all of it.
enum SealParts {
  static let ofServes = [decisions, accepted("impression"), accepted("click"), charges]

  /// Requests, live ads served, and those that nobody saw.
  private static let decisions = """
    WITH grouped AS MATERIALIZED (
      SELECT d.partition, d.app, d.is_test, ad_selection.is_without_app_key(d.reason) AS is_keyless, count(*) AS rows,
        count(*) FILTER (WHERE NOT d.is_test AND d.reason IN (\(DecisionReason.liveFills.numbers))) AS serves,
        count(*) FILTER (
          WHERE NOT d.is_test AND d.reason IN (\(DecisionReason.liveFills.numbers)) AND i.serve_id IS NULL) AS expired
      FROM ad_selection.outcomes($1, $2) d
      LEFT JOIN impression_tracking.impression_row i
        ON i.serve_id = d.serve_id AND i.partition = d.partition AND i.serve_id >= $1 AND i.serve_id < $2
      WHERE d.serve_id >= $1 AND d.serve_id < $2 GROUP BY 1, 2, 3, 4
    )
    INSERT INTO sealed.part
    SELECT 'count', ARRAY['ad_selection', partition::text, app, is_test::text], ARRAY[rows] FROM grouped WHERE NOT is_keyless
    UNION ALL
    SELECT 'partition', ARRAY[partition::text],
      ARRAY[sum(rows), sum(serves), sum(expired), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0] FROM grouped GROUP BY partition
    """

  private static func accepted(_ table: String) -> String {
    let sums = ["count(*)", "sum(sequence)", "sum((sequence & 2147483647) * (sequence & 2147483647))"]
    let figures =
      table == "impression"
      ? "0, 0, 0, sum(rows), 0, 0, 0, 0, 0, sum(sequences), sum(squares), 0, 0"
      : "0, 0, 0, 0, sum(rows), 0, 0, 0, 0, 0, 0, sum(sequences), sum(squares)"
    return """
      WITH grouped AS MATERIALIZED (
        SELECT partition, app, is_test, \(sums[0]) AS rows, \(sums[1]) AS sequences, \(sums[2]) AS squares
        FROM \(table)_tracking.\(table) WHERE serve_id >= $1 AND serve_id < $2 GROUP BY 1, 2, 3
      )
      INSERT INTO sealed.part
      SELECT 'count', ARRAY['\(table)_tracking', partition::text, app, is_test::text], ARRAY[rows] FROM grouped
      UNION ALL
      SELECT 'partition', ARRAY[partition::text], ARRAY[\(figures)] FROM grouped GROUP BY partition
      """
  }

  private static let charges = """
    WITH grouped AS MATERIALIZED (
      SELECT partition, advertiser, developer, campaign, app, kind, fate, currency, budget_day,
        CASE WHEN fate = \(ChargeFate.charged.number) AND NOT is_drawn AND amount > 0 THEN allotment END AS allotment,
        sum(events) AS rows, sum(amount) AS amount, sum(developer_amount) AS developer_amount,
        sum(network_amount) AS network_amount
      FROM billing.charge_sums($1, $2) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
    )
    INSERT INTO sealed.part
    SELECT 'partition', ARRAY[partition::text], ARRAY[0, 0, 0, 0, 0, sum(rows), sum(amount), sum(developer_amount),
      sum(network_amount), 0, 0, 0, 0] FROM grouped GROUP BY partition
    UNION ALL
    SELECT 'account', ARRAY[partition::text, 'advertiser:' || advertiser, currency], ARRAY[sum(amount), 0, 0]
    FROM grouped GROUP BY partition, advertiser, currency HAVING sum(amount) <> 0
    UNION ALL
    SELECT 'account', ARRAY[partition::text, 'developer:' || developer, currency], ARRAY[-sum(developer_amount), 0, 0]
    FROM grouped GROUP BY partition, developer, currency HAVING sum(developer_amount) <> 0
    UNION ALL
    SELECT 'account', ARRAY[partition::text, 'network:' || CASE fate WHEN \(ChargeFate.unfunded.number) THEN 'unfunded'
      ELSE 'revenue' END, currency], ARRAY[-sum(network_amount), 0, 0]
    FROM grouped WHERE network_amount <> 0 GROUP BY 2
    UNION ALL
    SELECT 'campaign', ARRAY[campaign], ARRAY[sum(amount)] FROM grouped GROUP BY campaign HAVING sum(amount) <> 0
    UNION ALL
    SELECT 'campaign_day', ARRAY[campaign, budget_day::text], ARRAY[sum(amount)] FROM grouped
    GROUP BY campaign, budget_day HAVING sum(amount) <> 0
    UNION ALL
    SELECT 'allotment', ARRAY[allotment::text, partition::text], ARRAY[sum(amount)] FROM grouped
    WHERE allotment IS NOT NULL GROUP BY allotment, partition
    UNION ALL
    SELECT 'revenue', ARRAY[partition::text, campaign, app, kind::text, fate::text, currency],
      ARRAY[sum(rows), sum(amount), sum(developer_amount), sum(network_amount)]
    FROM grouped GROUP BY partition, campaign, app, kind, fate, currency
    """

  /// Of the day's minutes, from $1 on and before $2: what is counted goes off what the rows come to.
  static let ofMinutes =
    [
      ("ad_selection", "requests", "true"), ("impression_tracking", "events", "kind = \(RecordedKind.viewed.number)"),
      ("click_tracking", "events", "kind = \(TapKind.click.number)"),
    ].map(counts) + [
      """
      INSERT INTO sealed.part
      SELECT 'revenue', ARRAY[partition::text, campaign, app, kind::text, fate::text, currency],
        ARRAY[-sum(events), -sum(gross), -sum(developer_amount), -sum(network_amount)]
      FROM billing.all_revenue WHERE minute >= $1 AND minute < $2
      GROUP BY partition, campaign, app, kind, fate, currency
      """
    ]

  private static func counts(_ service: String, _ column: String, _ condition: String) -> String {
    """
    INSERT INTO sealed.part
    SELECT 'count', ARRAY['\(service)', partition::text, app, is_test::text], ARRAY[-sum(\(column))]
    FROM \(service).all_count WHERE minute >= $1 AND minute < $2 AND \(condition) GROUP BY partition, app, is_test
    """
  }

  /// Batches that were committed before $1, and where inputs stood then.
  static let ofBatches = PipelineChecks.services.flatMap { [batches($0), inputs($0)] } + [postings]

  private static func batches(_ service: String) -> String {
    """
    \(UnsealedBatches.seals("\(service).batch", service: service))
    INSERT INTO sealed.part
    SELECT 'batch', ARRAY['\(service)', seals.partition::text], ARRAY[last.batch_number] FROM seals CROSS JOIN LATERAL (
      SELECT coalesce(
        -- The one before the first that is younger.
        (SELECT b.batch_number - 1 FROM \(service).batch b WHERE b.partition = seals.partition
          AND b.batch_number > seals.sealed AND b.committed_at >= $1 ORDER BY b.batch_number LIMIT 1),
        (SELECT p.batch_number FROM \(service).partition p WHERE p.partition = seals.partition)) AS batch_number
    ) AS last WHERE last.batch_number > greatest(seals.sealed, 0)
    """
  }

  private static func inputs(_ service: String) -> String {
    """
    \(UnsealedBatches.seals("\(service).batch", service: service)), until AS (
      SELECT key[2]::int AS partition, figures[1]::bigint AS batch_number FROM sealed.part
      WHERE subject = 'batch' AND key[1] = '\(service)'
    ), ranges AS (
      SELECT b.partition, r.topic, b.batch_number, 1 AS rank, r.next_offset
      FROM \(UnsealedBatches.rows("\(service).batch", as: "b"))
      CROSS JOIN LATERAL unnest(b.input_topics, b.next_offsets) AS r (topic, next_offset)
      UNION ALL
      SELECT l.partition, l.topic, l.batch_number, 0, l.next_offset FROM \(service).lost_range l
      JOIN seals p USING (partition) WHERE l.batch_number > p.sealed
    )
    INSERT INTO sealed.part
    SELECT 'input', ARRAY['\(service)', partition::text, topic], ARRAY[next_offset] FROM (
      SELECT DISTINCT ON (r.partition, r.topic) r.partition, r.topic, r.next_offset FROM ranges r JOIN until u USING (partition)
      WHERE r.batch_number <= u.batch_number AND $1::timestamptz IS NOT NULL
      ORDER BY r.partition, r.topic, r.batch_number DESC, r.rank DESC, r.next_offset DESC
    ) AS inputs
    """
  }

  private static let postings = """
    \(UnsealedBatches.seals("billing.posting", service: "billing")), until AS (
      SELECT key[2]::int AS partition, figures[1]::bigint AS batch_number FROM sealed.part
      WHERE subject = 'batch' AND key[1] = 'billing'
    )
    INSERT INTO sealed.part
    SELECT 'account', ARRAY[p.partition::text, p.account, p.currency], ARRAY[0, sum(p.debit), sum(p.credit)]
    FROM \(UnsealedBatches.rows("billing.posting", as: "p")) JOIN until u ON u.partition = p.partition
    WHERE p.batch_number <= u.batch_number AND $1::timestamptz IS NOT NULL GROUP BY p.partition, p.account, p.currency
    """
}
