/// The sums of sealed days are those that were written.
enum SealChecks {
  static let all = [sums, proofs]

  private static let sums = ReconciliationStatement(
    rule: "sealed", name: "sums of sealed days are as they were written",
    sql: """
      WITH compared AS MATERIALIZED (SELECT open_from, digest, sealed.digest() AS found FROM sealed.head)
      SELECT (SELECT count(*) FROM sealed.partition), (digest <> found)::int::bigint,
        CASE WHEN digest = found THEN '{}'::text[] ELSE
          ARRAY[format('sums until %s have digest %s, and were written with %s', open_from, found, digest)] END
      FROM compared
      """)

  /// The days of the last month, each linked to the one before, and the last one to the sums.
  private static let proofs = ReconciliationStatement(
    rule: "sealed", name: "proofs of the last sealed days are as they were written", borders: [.serve],
    sql: """
      WITH days AS (
        SELECT day, d.partition, d.digest, lead(day) OVER w IS NULL AS is_last,
          coalesce(lag(d.digest) OVER w, (
            SELECT e.digest FROM sealed.day e WHERE e.partition = d.partition AND e.day < d.day ORDER BY e.day DESC LIMIT 1),
            '') AS before,
          ARRAY[d.requests, d.serves, d.expired, d.impressions, d.clicks, d.charges, d.gross, d.developer_amount,
            d.network_amount, d.impression_sequences, d.impression_squares, d.click_sequences, d.click_squares] AS figures
        FROM sealed.day d WHERE day >= public.day_of($1) - 31 WINDOW w AS (PARTITION BY d.partition ORDER BY day)
      ), faults AS (
        SELECT format('%s, partition %s: not what was sealed', day, partition) AS example
        FROM days LEFT JOIN sealed.partition p USING (partition)
        WHERE days.digest <> sealed.link(before, day, partition, figures)
          OR is_last AND p.digest IS DISTINCT FROM days.digest
      )
      SELECT (SELECT count(*) FROM days), (SELECT count(*) FROM faults),
        ARRAY(SELECT example FROM faults ORDER BY example LIMIT 5)
      """)
}
