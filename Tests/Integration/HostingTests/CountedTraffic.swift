/// Counts of weeks, as services and SQL write them.
enum CountedTraffic {
  /// Each service, and how its tables of counts are named.
  static let schemas = [
    ("ad_selection", "count"), ("impression_tracking", "count"), ("click_tracking", "count"), ("billing", "revenue"),
  ]

  /// Rows of three partitions over 40 days until now, in four hours of each, several of one minute and of one hour, and
  /// some that are not old.
  static let counts = """
    CREATE TEMPORARY TABLE moment AS
      SELECT n % 3 AS partition, '2030-01-01 11:00Z'::timestamptz - n % 41 * interval '1 day'
          - n / 41 % 4 * interval '3 hours' + n % 7 * interval '7 minutes 7 seconds' AS time, n
      FROM generate_series(0, 5200) AS n;
    UPDATE moment SET time = date_trunc('minute', time);
    INSERT INTO moment SELECT partition, time, n + 1 FROM moment WHERE n % 5 = 0;
    INSERT INTO ad_selection.minute_count (partition, minute, reason, app, placement, campaign, ad, country, device, size,
      is_test, requests, fills)
    SELECT partition, time, CASE n % 4 WHEN 0 THEN 1 WHEN 1 THEN 33 WHEN 2 THEN 3 ELSE 36 END, 'app' || n % 2, 'home',
      CASE WHEN n % 4 = 0 THEN 'summer' ELSE '' END, CASE WHEN n % 4 = 0 THEN 'one' ELSE '' END, 'US', 1, 1, n % 4 = 2,
      1 + n % 7, CASE WHEN n % 2 = 0 THEN 1 + n % 7 ELSE 0 END FROM moment;
    INSERT INTO impression_tracking.minute_count (partition, minute, kind, error, app, campaign, ad, placement, country,
      size, device, is_test, events)
    SELECT partition, time, 1 + n % 5, CASE WHEN n % 5 = 3 THEN 5 ELSE -1 END, 'app' || n % 2, 'summer', 'one', 'home', 'US',
      1, 1, false, 1 + n % 5 FROM moment;
    INSERT INTO click_tracking.minute_count (partition, minute, kind, verdict, app, campaign, ad, placement, country, size,
      device, is_test, events)
    SELECT partition, time, 1, 1 + n % 8, 'app' || n % 2, 'summer', 'one', 'home', 'US', 1, 1, false, 1 FROM moment;
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement,
      country, device, size, currency, events, gross, developer_amount, network_amount)
    SELECT partition, time, 1 + n % 2, 1, 'app' || n % 2, 'dev', 'adv', 'summer', 'one', 'home', 'US', 1, 1, 'USD', 1,
      9223372036854775807 - n, 9223372036854775807 / 2, 9223372036854775807 - n - 9223372036854775807 / 2 FROM moment;
    """

  /// Of one of the partitions, all are packed.
  static let pack = """
    DO $do$
    DECLARE
      schema text;
      kind text;
      arrays text;
    BEGIN
      FOR schema, kind IN VALUES \(schemas.map { "('\($0)', '\($1)')" }.joined(separator: ", ")) LOOP
        SELECT string_agg(format('array_agg(%I)', attname), ', ' ORDER BY attnum) INTO arrays
        FROM pg_attribute WHERE attrelid = format('%I.minute_%s', schema, kind)::regclass AND attnum > 2
          AND attname <> 'written_by';
        EXECUTE format('INSERT INTO %1$I.packed_%2$s SELECT partition, minute, %3$s FROM %1$I.minute_%2$s
          WHERE partition = 1 GROUP BY partition, minute', schema, kind, arrays);
        EXECUTE format('DELETE FROM %1$I.minute_%2$s WHERE partition = 1', schema, kind);
      END LOOP;
    END
    $do$;
    """
}
