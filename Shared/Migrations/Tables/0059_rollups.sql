-- Counts rolled up by one dimension each: by hour and app, by hour and campaign, and so on. Counts with all dimensions are about
-- as many as events, so that a report of a week read millions of them; rolled up they are as many as an hour has values.
--
-- A row of minutes says which transaction wrote it. All transactions up to one are rolled up, and nothing that came later: so
-- whoever writes counts, however late they are, knows nothing of it, and whoever reads finds each in one of the two.
CREATE TABLE pipeline.rollup (
  service text PRIMARY KEY, server bigint NOT NULL, last_transaction xid8 NOT NULL, rolled_up_at timestamptz NOT NULL DEFAULT now());
COMMENT ON TABLE pipeline.rollup IS
  'Up to which transaction, of which server, the counts of a service are rolled up: later ones are read where they were written.';

DO $do$
DECLARE
  service text;
  kind text;
  keys text;
  sums text;
  counted text;
  columns text;
BEGIN
  FOR service, kind, keys, sums IN VALUES
    ('ad_selection', 'count', 'is_test, reason, injected_error', 'requests, fills'),
    ('impression_tracking', 'count', 'is_test, kind, error', 'events'),
    ('click_tracking', 'count', 'is_test, kind, verdict', 'events'),
    ('billing', 'revenue', 'kind, fate, currency', 'events, gross, developer_amount, network_amount')
  LOOP
    FOREACH counted IN ARRAY ARRAY['minute_' || kind, 'packed_' || kind] LOOP
      -- What is there is older than any transaction.
      EXECUTE format('ALTER TABLE %I.%I ADD COLUMN written_by xid8 NOT NULL DEFAULT %L', service, counted, '1');
      EXECUTE format('ALTER TABLE %I.%I ALTER COLUMN written_by SET DEFAULT pg_current_xact_id()', service, counted);
      EXECUTE format('CREATE INDEX ON %I.%I (written_by)', service, counted);
    END LOOP;
    SELECT string_agg(format('%I %s NOT NULL', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum) INTO columns
    FROM pg_attribute
    WHERE attrelid = format('%I.minute_%s', service, kind)::regclass
      AND attname = ANY (string_to_array(keys || ', ' || sums, ', '));
    EXECUTE format($ddl$
      CREATE TABLE %1$I.rollup_%2$s (
        hour timestamptz NOT NULL, dimension text NOT NULL, value text NOT NULL, %3$s,
        PRIMARY KEY (dimension, hour, value, %4$s));
      COMMENT ON TABLE %1$I.rollup_%2$s IS
        'Counts rolled up by one dimension each, by the hour, of old ones by the day: for ever.';
    $ddl$, service, kind, columns, keys);
    -- Nothing is rolled up, by no server: the end of this run does it (public.rebuild_rollups).
    INSERT INTO pipeline.rollup (service, server, last_transaction) VALUES (service, 0, '0');
  END LOOP;
END
$do$;
