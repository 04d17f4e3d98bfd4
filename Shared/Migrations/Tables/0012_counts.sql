-- Counts are appended and never updated: a row is what some batches add to a minute, and whoever reads adds up. So they
-- cost what any row costs, and a day that is over is folded: into rows of an hour, later of a day, which stay for ever.
DO $do$
DECLARE
  service text;
  kind text;
  delta regclass;
  day date;
BEGIN
  FOR service, kind IN VALUES ('ad_selection', 'count'), ('impression_tracking', 'count'), ('click_tracking', 'count'),
    ('billing', 'revenue')
  LOOP
    -- What was counted until now moves into the days that it belongs to.
    EXECUTE format('ALTER TABLE %I.minute_%s RENAME TO counted_before', service, kind);
    EXECUTE format($ddl$
      CREATE TABLE %1$I.minute_%2$s (LIKE %1$I.counted_before INCLUDING CONSTRAINTS INCLUDING DEFAULTS)
        PARTITION BY RANGE (minute);
      CREATE INDEX ON %1$I.minute_%2$s (minute, partition);
      COMMENT ON TABLE %1$I.minute_%2$s IS
        'What batches add to minutes: rows of one minute and one kind come as often as they were written.';
      -- Whatever has no table of its day: nothing that was counted is refused.
      CREATE TABLE %1$I.minute_%2$s_other PARTITION OF %1$I.minute_%2$s DEFAULT;
      CREATE TABLE %1$I.hour_%2$s (LIKE %1$I.counted_before INCLUDING CONSTRAINTS INCLUDING DEFAULTS)
        PARTITION BY RANGE (minute);
      CREATE INDEX ON %1$I.hour_%2$s (minute, partition);
      COMMENT ON TABLE %1$I.hour_%2$s IS 'Minutes folded into the hour that begins at minute (UTC).';
      CREATE TABLE %1$I.hour_%2$s_other PARTITION OF %1$I.hour_%2$s DEFAULT;
      CREATE TABLE %1$I.day_%2$s (LIKE %1$I.counted_before INCLUDING CONSTRAINTS INCLUDING DEFAULTS);
      CREATE INDEX ON %1$I.day_%2$s (minute, partition);
      COMMENT ON TABLE %1$I.day_%2$s IS 'Hours folded into the day that begins at minute (UTC), for ever.';
    $ddl$, service, kind);
    FOR day IN EXECUTE format(
      'SELECT DISTINCT (minute AT TIME ZONE ''UTC'')::date FROM %I.counted_before', service)
    LOOP
      EXECUTE format('CREATE TABLE %1$I.%2$I PARTITION OF %1$I.minute_%3$s FOR VALUES FROM (%4$L) TO (%5$L)', service,
        'minute_' || kind || '_' || to_char(day, 'YYYYMMDD'), kind, day::timestamp AT TIME ZONE 'UTC',
        (day + 1)::timestamp AT TIME ZONE 'UTC');
    END LOOP;
    EXECUTE format('INSERT INTO %1$I.minute_%2$s SELECT * FROM %1$I.counted_before', service, kind);
    -- With the views that read it: they are made again.
    EXECUTE format('DROP TABLE %I.counted_before CASCADE', service);
  END LOOP;
END
$do$;

-- Up to which batch a partition's rows are counted, of all services alike. The transaction that counts moves it on, and
-- counts nothing where it stands elsewhere than it should. Later batches are counted by the process that decided them, and
-- from their rows by its successor.
ALTER TABLE ad_selection.counted DROP COLUMN committed_at;
CREATE TABLE click_tracking.counted (partition int PRIMARY KEY, batch_number bigint NOT NULL);
CREATE TABLE billing.counted (partition int PRIMARY KEY, batch_number bigint NOT NULL);
-- Until now these two counted with each batch.
INSERT INTO click_tracking.counted SELECT partition, batch_number FROM click_tracking.partition;
INSERT INTO billing.counted SELECT partition, batch_number FROM billing.partition;

-- What reports count a stopped action by, so that it can be counted again; earlier ones are counted.
ALTER TABLE click_tracking.stopped_action ADD COLUMN ad text NOT NULL DEFAULT '',
  ADD COLUMN placement text NOT NULL DEFAULT '', ADD COLUMN country text NOT NULL DEFAULT '',
  ADD COLUMN size smallint NOT NULL DEFAULT 0, ADD COLUMN device smallint NOT NULL DEFAULT 0;
ALTER TABLE click_tracking.stopped_action ALTER COLUMN ad DROP DEFAULT, ALTER COLUMN placement DROP DEFAULT,
  ALTER COLUMN country DROP DEFAULT, ALTER COLUMN size DROP DEFAULT, ALTER COLUMN device DROP DEFAULT;
