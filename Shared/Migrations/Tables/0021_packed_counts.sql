-- Counts of minutes may come many in one row: a partition's of a minute, each column an array of what would be a column of as
-- many rows. These are mostly of one event each, cost a hundred bytes each, and say the same again and again: in arrays, which
-- are compressed, they take a tenth or less. Views show them one by one; they are folded like the others.
DO $do$
DECLARE
  service text;
  kind text;
  arrays text;
BEGIN
  FOR service, kind IN VALUES ('ad_selection', 'count'), ('impression_tracking', 'count'), ('click_tracking', 'count'),
    ('billing', 'revenue')
  LOOP
    SELECT string_agg(format('%I %s[] NOT NULL', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum) INTO arrays
    FROM pg_attribute
    WHERE attrelid = format('%I.minute_%s', service, kind)::regclass AND attnum > 2 AND NOT attisdropped;
    EXECUTE format($ddl$
      CREATE TABLE %1$I.packed_%2$s (partition int NOT NULL, minute timestamptz NOT NULL, %3$s) PARTITION BY RANGE (minute);
      CREATE INDEX ON %1$I.packed_%2$s (minute, partition);
      CREATE TABLE %1$I.packed_%2$s_other PARTITION OF %1$I.packed_%2$s DEFAULT;
      COMMENT ON TABLE %1$I.packed_%2$s IS 'What batches add to a minute, as rows of minute_%2$s: many in one, in arrays.';
    $ddl$, service, kind, arrays);
  END LOOP;
END
$do$;
