internal import Postgres

/// A comparison as SQL: its answer is one row of how many rows were compared, how many differ, and examples.
struct ReconciliationStatement: Sendable {
  let rule: String
  let name: String
  let sql: String

  /// For the transaction that compares. Tables that have just grown have no statistics yet: the planner takes a range of
  /// them for a few rows and would pass at every pair (seen: over 30 s for 9,300 rows). And compiling takes longer than
  /// running.
  static func choosePlans(_ connection: PostgresConnection) throws(PostgresError) {
    for setting in ["enable_nestloop", "jit"] { try connection.execute(sql: "SET LOCAL \(setting) = off") }
  }

  func check(
    _ parameters: [any PostgresValue] = [], in connection: PostgresConnection
  ) throws(PostgresError) -> ReconciliationCheck {
    guard let row = try connection.query(sql, parameters).first else {
      throw PostgresError(.undecodable, "a comparison has no answer")
    }
    let examples: [String]? = try row.decode(2)
    return ReconciliationCheck(
      rule: rule, name: name, compared: try row.decode(0), differences: try row.decode(1), examples: examples ?? [])
  }
}

/// I3: every record of every input has exactly one recorded outcome. The schemas are the program's own names.
enum PipelineChecks {
  /// A service's schema, in the order of the flow.
  static let services = ["ad_selection", "impression_tracking", "click_tracking", "billing"]

  static var all: [ReconciliationStatement] {
    services.flatMap { [offsets($0), outcomes($0)] } + [
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
        WITH ranges AS (
          SELECT partition, topic, batch_number, 0 AS place, first_offset, next_offset FROM \(schema).lost_range
          UNION ALL
          SELECT b.partition, r.topic, b.batch_number, 1, r.first_offset, r.next_offset FROM \(schema).batch b
          CROSS JOIN LATERAL unnest(b.input_topics, b.first_offsets, b.next_offsets) AS r (topic, first_offset, next_offset)
        ), linked AS (
          SELECT *, lag(next_offset) OVER w AS before, lead(batch_number) OVER w IS NULL AS is_last FROM ranges
          WINDOW w AS (PARTITION BY partition, topic ORDER BY batch_number, place, first_offset)
        ), faults AS (
          SELECT format('%s[%s]: batch %s begins at %s, what came before it ends at %s', topic, partition, batch_number,
            first_offset, before) AS example
          FROM linked WHERE before <> first_offset AND NOT (place = 1 AND first_offset = next_offset)
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
        WITH batches AS (
          SELECT partition, batch_number, octet_length(outcomes) AS outcomes,
            (SELECT coalesce(sum(n - f), 0) FROM unnest(first_offsets, next_offsets) AS r (f, n)) AS offsets,
            lag(batch_number) OVER (PARTITION BY partition ORDER BY batch_number) AS before
          FROM \(schema).batch
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
          JOIN (SELECT partition, max(batch_number) AS last FROM batches GROUP BY partition) b USING (partition)
          WHERE p.batch_number <> b.last
        )
        SELECT coalesce((SELECT sum(offsets) FROM batches), 0)::bigint, (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }

  /// The accepted rows of each partition have dense sequences, and the last is the one before the next.
  ///
  /// Retention drops whole days of serve ids, while sequences follow arrivals: rows of the first day that is kept lie
  /// between rows that went with the day before. An event comes 26 h after its serve at most, and a click may wait 25 h more
  /// for its verdict and sequence. So where rows were dropped (the first sequence left is not 1) gaps may follow rows that
  /// arrived within three days of the first day kept.
  private static func sequences(_ schema: String, _ table: String, _ topic: String) -> ReconciliationStatement {
    ReconciliationStatement(
      rule: "I3", name: "\(topic): accepted rows have dense sequences",
      sql: """
        WITH accepted AS (
          SELECT partition, count(*) AS rows, count(DISTINCT sequence) AS sequences, min(sequence) AS first,
            max(sequence) AS last
          FROM \(schema).\(table) GROUP BY partition
        ), odd AS (
          SELECT partition, first FROM accepted WHERE rows <> sequences OR rows <> last - first + 1
        ), border AS (
          SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD'))::timestamp AT TIME ZONE 'UTC' + interval '3 days' AS moment
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = coalesce(to_regclass('\(schema).\(table)_row'), '\(schema).\(table)'::regclass)
        ), steps AS (
          SELECT partition, sequence, first, lag(sequence) OVER w AS before, lag(arrival) OVER w AS before_arrival
          FROM \(schema).\(table) JOIN odd USING (partition) WINDOW w AS (PARTITION BY partition ORDER BY sequence)
        ), faults AS (
          SELECT format('partition %s: sequence %s follows %s', partition, sequence, before) AS example FROM steps
          WHERE sequence <> before + 1
            AND NOT (sequence > before AND first > 1 AND before_arrival < (SELECT moment FROM border))
          UNION ALL
          SELECT format('partition %s: the last sequence is %s, the next %s', a.partition, a.last, o.next_sequence)
          FROM accepted a LEFT JOIN \(schema).output o ON o.partition = a.partition AND o.topic = '\(topic)'
          WHERE o.next_sequence IS DISTINCT FROM a.last + 1
        )
        SELECT coalesce((SELECT sum(rows) FROM accepted), 0)::bigint, (SELECT count(*) FROM faults),
          ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
        """)
  }
}
