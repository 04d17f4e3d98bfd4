internal import AdCore

/// I3: every record of every input has exactly one recorded outcome. The schemas are the program's own names.
enum PipelineChecks {
  /// A service's schema, in the order of the flow.
  static let services = ["ad_selection", "impression_tracking", "click_tracking", "billing"]

  static var all: [ReconciliationStatement] {
    services.flatMap { [offsets($0), outcomes($0), rejections($0)] } + openTerms + [
      sequences("impression_tracking", "impression", "ads.impressions.accepted"),
      sequences("click_tracking", "click", "ads.clicks.accepted"),
    ]
  }

  /// The ranges of batches and lost records join without a gap from the first one to the position. An empty batch
  /// elsewhere is a log that a person accepted in place of a lost one: there the ranges begin anew.
  private static func offsets(_ schema: String) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "I3", name: "\(schema): offsets of batches join, up to the position",
      sql: """
        \(UnsealedBatches.seals("\(schema).batch", service: schema)), ranges AS (
          SELECT l.partition, l.topic, l.batch_number, 0 AS rank, l.first_offset, l.next_offset FROM \(schema).lost_range l
          LEFT JOIN seals p USING (partition) WHERE l.batch_number > coalesce(p.sealed, -1)
          UNION ALL
          SELECT b.partition, r.topic, b.batch_number, 1, r.first_offset, r.next_offset
          FROM \(UnsealedBatches.rows("\(schema).batch", as: "b"))
          CROSS JOIN LATERAL unnest(b.input_topics, b.first_offsets, b.next_offsets) AS r (topic, first_offset, next_offset)
          UNION ALL
          SELECT partition, topic, -1, 0, next_offset, next_offset FROM sealed.input WHERE service = '\(schema)'
        ), linked AS (
          SELECT *, lag(next_offset) OVER w AS before, lead(batch_number) OVER w IS NULL AS is_last FROM ranges
          WINDOW w AS (PARTITION BY partition, topic ORDER BY batch_number, rank, first_offset)
        ), faults AS (
          SELECT format('%s[%s]: batch %s begins at %s, what came before it ends at %s', topic, partition, batch_number,
            first_offset, before) AS example
          FROM linked WHERE before <> first_offset AND NOT (rank = 1 AND first_offset = next_offset)
          UNION ALL
          SELECT format('%s[%s]: the position is %s, the batches end at %s', i.topic, i.partition, i.next_offset,
            l.next_offset)
          FROM \(schema).input i JOIN linked l ON l.is_last AND l.partition = i.partition AND l.topic = i.topic
          WHERE l.next_offset <> i.next_offset
        )
        SELECT (SELECT count(*) FROM ranges), (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }

  /// One byte of outcome for each offset, and batches numbered without a gap up to the partition's number.
  private static func outcomes(_ schema: String) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "I3", name: "\(schema): one outcome for each offset, batches dense",
      sql: """
        \(UnsealedBatches.seals("\(schema).batch", service: schema)), batches AS (
          SELECT b.partition, b.batch_number, octet_length(b.outcomes) AS outcomes,
            (SELECT coalesce(sum(n - f), 0) FROM unnest(b.first_offsets, b.next_offsets) AS r (f, n)) AS offsets,
            coalesce(lag(b.batch_number) OVER (PARTITION BY b.partition ORDER BY b.batch_number), nullif(seals.sealed, -1))
              AS before
          FROM \(UnsealedBatches.rows("\(schema).batch", as: "b"))
        ), faults AS (
          SELECT format('partition %s, batch %s: %s outcomes for %s offsets', partition, batch_number, outcomes, offsets)
            AS example
          FROM batches WHERE outcomes <> offsets
          UNION ALL
          SELECT format('partition %s: batch %s follows batch %s', partition, batch_number, before)
          FROM batches WHERE before <> batch_number - 1
          UNION ALL
          SELECT format('partition %s: its number is %s, its last batch %s', p.partition, p.batch_number, b.last)
          FROM \(schema).partition p
          JOIN (
            SELECT partition, max(last) AS last FROM (
              SELECT partition, batch_number AS last FROM batches
              UNION ALL SELECT partition, sealed FROM seals WHERE sealed >= 0
            ) AS numbers GROUP BY partition
          ) b USING (partition)
          WHERE p.batch_number <> b.last
        )
        SELECT coalesce((SELECT sum(offsets) FROM batches), 0)::bigint, (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }

  /// What is kept of a rejected record gives the reason that is its outcome. Of a run, whose outcome is what was put aside
  /// first, that something was.
  private static func rejections(_ schema: String) -> ReconciliationStatement {
    let first = RejectionReason.allCases.map(\.rawValue).min() ?? 0
    return ReconciliationStatement(
      rule: "I3", name: "\(schema): rejected records have their reason as outcome",
      sql: """
        \(UnsealedBatches.seals("\(schema).batch", service: schema)), kept AS (
          SELECT r.partition, r.topic, r.record_offset, r.batch_number, r.reason, b.outcomes, b.input_topics,
            b.first_offsets, b.next_offsets
          FROM seals JOIN \(schema).input i ON i.partition = seals.partition
          CROSS JOIN LATERAL (
            SELECT * FROM \(schema).rejected r WHERE r.partition = seals.partition AND r.topic = i.topic
              AND r.batch_number > seals.sealed OFFSET 0
          ) AS r
          LEFT JOIN LATERAL (
            SELECT outcomes, input_topics, first_offsets, next_offsets FROM \(schema).batch
            WHERE partition = r.partition AND batch_number = r.batch_number OFFSET 0
          ) AS b ON true
        ), located AS (
          SELECT k.*, byte, byte < octet_length(outcomes) AS is_there FROM kept k LEFT JOIN LATERAL (
            SELECT own.before + k.record_offset - own.first_offset AS byte FROM (
              SELECT topic, first_offset, next_offset, sum(next_offset - first_offset) OVER (ORDER BY rank)
                - (next_offset - first_offset) AS before
              FROM unnest(k.input_topics, k.first_offsets, k.next_offsets) WITH ORDINALITY
                AS ranges (topic, first_offset, next_offset, rank)
            ) AS own
            WHERE own.topic = k.topic AND k.record_offset >= own.first_offset AND k.record_offset < own.next_offset
          ) AS own ON true
        ), compared AS (
          SELECT *, CASE WHEN is_there THEN get_byte(outcomes, byte::int) END AS outcome FROM located
          -- A run that was cut has its outcome in the batch that ended it.
          WHERE byte IS NOT NULL OR outcomes IS NULL
        ), faults AS (
          SELECT format('%s[%s] offset %s: rejected with reason %s, its outcome is %s', topic, partition, record_offset,
            reason, outcome) AS example
          FROM compared WHERE outcome IS NULL
            OR CASE WHEN topic LIKE '%.accepted' THEN outcome < \(first) AND outcome <> \(Outcome.suspense.number)
              ELSE outcome <> reason END
        )
        SELECT (SELECT count(*) FROM compared), (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }

  /// Terms that rows of open days name.
  private static let openTerms = services.map { terms($0, of: "open days", where: "last_day >= public.day_of($1)") }

  /// Terms that no row of an open day names, as long as they are kept.
  static let sealedTerms = services.map { terms($0, of: "sealed days", where: "last_day < public.day_of($1)") }

  /// Terms are found by a name that is made of them: whoever changes what was agreed would have to rename it everywhere.
  private static func terms(_ schema: String, of days: String, where condition: String) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "I2", name: "\(schema): terms of \(days) are what they were when they were named", borders: [.serve],
      sql: """
        WITH terms AS (SELECT * FROM \(schema).terms WHERE \(condition)), faults AS (
          SELECT format('terms %s of campaign %s: not what was named', name, campaign) AS example FROM terms
          WHERE name <> public.terms_name(app, developer, advertiser, campaign, ad, impression_price, click_price, currency,
            share_basis_points, life_ms, is_test)
        )
        SELECT (SELECT count(*) FROM terms), (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }

  /// The accepted rows of each partition have dense sequences but for those of lost commits, and the last is not behind the
  /// one before the next. Days are cut by the
  /// serve and sequences follow arrivals, so a sealed day leaves its count, its sum and its sum of squares: with those of the
  /// open rows they are what 1 to the last sequence comes to.
  private static func sequences(_ schema: String, _ table: String, _ topic: String) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "I3", name: "\(topic): accepted rows have dense sequences", borders: [.serve],
      sql: """
        WITH accepted AS (
          SELECT partition, count(*) AS open, count(*)::numeric AS rows, sum(sequence) AS sum,
            sum((sequence & 2147483647) * (sequence & 2147483647)) AS squares, max(sequence) AS last
          FROM \(schema).\(table) WHERE serve_id >= $1 GROUP BY partition
          UNION ALL
          SELECT partition, 0, \(table)s, \(table)_sequences, \(table)_squares, 0 FROM sealed.partition WHERE \(table)s > 0
        ), sums AS (
          SELECT partition, sum(open)::bigint AS open, sum(rows) AS rows, sum(sum) AS sum, sum(squares) AS squares,
            max(last) AS last
          FROM accepted GROUP BY partition
        ), lost AS (
          SELECT partition, sum(next_sequence - first_sequence) AS rows,
            sum((next_sequence - first_sequence) * (first_sequence + next_sequence - 1)::numeric / 2) AS sum,
            sum(sealed.squares(next_sequence - 1) - sealed.squares(first_sequence - 1)) AS squares
          FROM timeline.lost_sequence WHERE topic = '\(topic)' GROUP BY partition
        ), compared AS (
          SELECT s.partition, s.open, s.last, s.rows + coalesce(l.rows, 0) AS rows, s.sum + coalesce(l.sum, 0) AS sum,
            s.squares + coalesce(l.squares, 0) AS squares, o.next_sequence - 1 AS ends
          FROM sums s LEFT JOIN lost l USING (partition)
          LEFT JOIN \(schema).output o ON o.partition = s.partition AND o.topic = '\(topic)'
        ), faults AS (
          SELECT format('partition %s: %s rows up to sequence %s, the next is %s', partition, rows, last, ends + 1) AS example
          FROM compared WHERE ends IS NULL OR rows <> ends OR sum <> ends::numeric * (ends + 1) / 2 OR last > ends
            OR squares <> sealed.squares(ends)
        )
        SELECT coalesce((SELECT sum(open) FROM sums), 0)::bigint, (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }
}
