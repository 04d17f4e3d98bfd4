-- Counts of days had no end. Now they lie in tables of a month each, which go whole (public.drop_counts). What there is stays where
-- it is, in the table of whatever has none of its month: as long as that has many rows, a new month takes the time to read them.
--
-- And what of rollups is to be folded is found without reading all that is folded: minutes that are not their hour's first, and
-- hours that are not their day's.
DO $do$
DECLARE
  service text;
  kind text;
BEGIN
  FOR service, kind IN VALUES ('ad_selection', 'count'), ('impression_tracking', 'count'), ('click_tracking', 'count'),
    ('billing', 'revenue')
  LOOP
    EXECUTE format($ddl$
      ALTER TABLE %1$I.day_%2$s RENAME TO day_%2$s_other;
      ALTER INDEX %1$I.day_%2$s_minute_partition_idx RENAME TO day_%2$s_other_minute_partition_idx;
      CREATE TABLE %1$I.day_%2$s (LIKE %1$I.day_%2$s_other INCLUDING CONSTRAINTS INCLUDING DEFAULTS)
        PARTITION BY RANGE (minute);
      CREATE INDEX ON %1$I.day_%2$s (minute, partition);
      COMMENT ON TABLE %1$I.day_%2$s IS 'Hours folded into the day that begins at minute (UTC).';
      ALTER TABLE %1$I.day_%2$s ATTACH PARTITION %1$I.day_%2$s_other DEFAULT;
      COMMENT ON TABLE %1$I.day_%2$s_other IS NULL;
      CREATE INDEX rollup_%2$s_minutes ON %1$I.rollup_%2$s (hour)
        WHERE dimension = 'minute' AND right(value, 7) <> ':00:00Z';
      CREATE INDEX rollup_%2$s_hours ON %1$I.rollup_%2$s (hour)
        WHERE dimension = 'all' AND hour AT TIME ZONE 'UTC' <> date_trunc('day', hour AT TIME ZONE 'UTC');
    $ddl$, service, kind);
  END LOOP;
END
$do$;
