-- Counts rolled up by one dimension each: what reports over days and months read.

-- How a rollup names a minute.
CREATE OR REPLACE FUNCTION public.minute_text(minute timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:00"Z"')
$function$;

-- A query of `counts` of a service, itself a query, once for each dimension; with further ones of its columns.
CREATE OR REPLACE FUNCTION public.query_by_dimension(service text, counts text, further text DEFAULT '') RETURNS text
LANGUAGE sql STABLE AS $function$
  SELECT format($query$
    SELECT date_trunc('hour', minute, 'UTC') AS hour, d.dimension, d.value, %1$s, %2$s %3$s
    FROM (%4$s) AS counted CROSS JOIN LATERAL (VALUES ('all', ''),
      ('minute', public.minute_text(minute)), ('app', app), ('campaign', campaign),
      ('ad', ad), ('country', country), ('size', size::text), ('device', device::text), ('placement', placement) %5$s
    ) AS d (dimension, value) WHERE %6$s
  $query$, columns.keys, columns.sums, further, counts,
    CASE service WHEN 'billing'
      THEN ', (''developer'', developer), (''advertiser'', ARRAY[advertiser, campaign]::text)' ELSE '' END,
    -- An error that a device told without an ad names its app unchecked: at least the app is one.
    CASE service WHEN 'impression_tracking'
      THEN 'campaign <> '''' OR EXISTS (SELECT FROM catalog.record r WHERE r.key = ''app/'' || app)' ELSE 'true' END)
  FROM public.count_columns(format('%I.rollup_%s', service, CASE service WHEN 'billing' THEN 'revenue' ELSE 'count' END)::regclass)
    AS columns
$function$;

-- Of each service: the counts that are not rolled up yet; and all counts by hour and dimension, which are these and the
-- rollups.
DO $do$
DECLARE
  service text;
  kind text;
  names text;
  arrays text;
  columns record;
BEGIN
  FOR service, kind IN VALUES ('ad_selection', 'count'), ('impression_tracking', 'count'), ('click_tracking', 'count'),
    ('billing', 'revenue')
  LOOP
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum), string_agg(format('p.%I', attname), ', ' ORDER BY attnum)
    INTO names, arrays FROM pg_attribute
    WHERE attrelid = format('%I.day_%s', service, kind)::regclass AND attnum > 2 AND NOT attisdropped;
    SELECT * INTO columns FROM public.count_columns(format('%I.rollup_%s', service, kind)::regclass);
    -- The upper bound, below which all are, has the planner expect few, and go by the index.
    EXECUTE format('CREATE OR REPLACE VIEW %I.unrolled_%s AS ', service, kind) || public.query_by_dimension(service, format($query$
      SELECT minute, %3$s, written_by FROM %1$I.minute_%2$s
      WHERE written_by > (SELECT last_transaction FROM pipeline.rollup WHERE service = %1$L)
        AND written_by < '18446744073709551615'
      UNION ALL
      SELECT p.minute, c.*, p.written_by FROM %1$I.packed_%2$s AS p, unnest(%4$s) AS c (%3$s)
      WHERE p.written_by > (SELECT last_transaction FROM pipeline.rollup WHERE service = %1$L)
        AND p.written_by < '18446744073709551615'
    $query$, service, kind, names, arrays), ', written_by');
    EXECUTE format($view$
      CREATE OR REPLACE VIEW %1$I.%2$s_by_dimension AS
      SELECT hour, dimension, value, %3$s, %4$s FROM %1$I.rollup_%2$s
      UNION ALL SELECT hour, dimension, value, %3$s, %4$s FROM %1$I.unrolled_%2$s
    $view$, service, kind, columns.keys, columns.sums);
    EXECUTE format('COMMENT ON VIEW %I.unrolled_%s IS %L', service, kind,
      'What is counted and not rolled up yet, once for each dimension, with the transaction that wrote it.');
    EXECUTE format('COMMENT ON VIEW %I.%s_by_dimension IS %L', service, kind,
      'All that is counted, by the hour, of old ones by the day, once for each dimension. Choose one; add up with sum().');
  END LOOP;
END
$do$;

-- Rolls up what the transactions after the last ones have counted, as far as all before them have ended: at most of so many
-- rows, packed or not, and the others of the last transaction among them. Where there are fewer than `fewest`, and it was done
-- within the hour, nothing is: what is not rolled up is read as it is. Says whether there may be more.
CREATE OR REPLACE FUNCTION public.roll_up_counts(service text, fewest bigint, most bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  kind text := CASE service WHEN 'billing' THEN 'revenue' ELSE 'count' END;
  mark pipeline.rollup;
  newest xid8;
  found bigint;
  columns record;
BEGIN
  PERFORM public.hold_service(service);
  IF NOT pg_try_advisory_xact_lock(hashtext('roll_up_counts'), hashtext(service)) THEN RETURN false; END IF;
  SELECT * INTO mark FROM pipeline.rollup AS r WHERE r.service = roll_up_counts.service;
  IF mark.last_transaction >= pg_snapshot_xmax(pg_current_snapshot()) THEN
    RAISE EXCEPTION 'the counts of % were copied from a server whose transactions have higher numbers: run handbill migrate up',
      service;
  END IF;
  EXECUTE format($sql$
    SELECT (array_agg(written_by ORDER BY written_by DESC))[1], count(*) FROM (
      SELECT written_by FROM (
        SELECT written_by FROM %1$I.minute_%2$s WHERE written_by > $1 AND written_by < $2
        UNION ALL SELECT written_by FROM %1$I.packed_%2$s WHERE written_by > $1 AND written_by < $2
      ) AS written ORDER BY written_by LIMIT $3
    ) AS oldest
  $sql$, service, kind)
    INTO newest, found USING mark.last_transaction, pg_snapshot_xmin(pg_current_snapshot()), most;
  IF found = 0 OR found < fewest AND mark.rolled_up_at > now() - interval '1 hour' THEN RETURN false; END IF;
  SELECT * INTO columns FROM public.count_columns(format('%I.rollup_%s', service, kind)::regclass);
  EXECUTE format($sql$
    INSERT INTO %1$I.rollup_%2$s AS known (hour, dimension, value, %3$s, %4$s)
    SELECT hour, dimension, value, %3$s, %5$s FROM %1$I.unrolled_%2$s WHERE written_by <= $1 GROUP BY hour, dimension, value, %3$s
    ON CONFLICT (dimension, hour, value, %3$s) DO UPDATE SET %6$s
  $sql$, service, kind, columns.keys, columns.sums, columns.added, columns.merged) USING newest;
  UPDATE pipeline.rollup AS r SET last_transaction = newest, rolled_up_at = now() WHERE r.service = roll_up_counts.service;
  RETURN found = most;
END
$function$;

-- Rolls up by the hour what is by the minute before `hours_before`, and by the day one day of what is by the hour before
-- `days_before`. Says whether there may be more.
CREATE OR REPLACE FUNCTION public.fold_rollups(service text, hours_before timestamptz, days_before timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  rollup text := format('%I.rollup_%s', service, CASE service WHEN 'billing' THEN 'revenue' ELSE 'count' END);
  columns record;
  first timestamptz;
BEGIN
  PERFORM public.hold_service(service);
  IF NOT pg_try_advisory_xact_lock(hashtext('roll_up_counts'), hashtext(service)) THEN RETURN false; END IF;
  SELECT * INTO columns FROM public.count_columns(rollup::regclass);
  EXECUTE format($sql$
    WITH folded AS (
      DELETE FROM %1$s WHERE dimension = 'minute' AND hour < $1 AND value <> public.minute_text(hour) RETURNING *
    )
    INSERT INTO %1$s AS known (hour, dimension, value, %2$s, %3$s)
    SELECT hour, dimension, public.minute_text(hour), %2$s, %4$s FROM folded GROUP BY hour, dimension, %2$s
    ON CONFLICT (dimension, hour, value, %2$s) DO UPDATE SET %5$s
  $sql$, rollup, columns.keys, columns.sums, columns.added, columns.merged) USING hours_before;
  EXECUTE format($sql$
    SELECT hour FROM %s WHERE dimension = 'all' AND hour < $1 AND hour <> date_trunc('day', hour, 'UTC') ORDER BY hour LIMIT 1
  $sql$, rollup) INTO first USING days_before;
  first := date_trunc('day', first, 'UTC');
  EXECUTE format($sql$
    WITH folded AS (DELETE FROM %1$s WHERE hour >= $1 AND hour < $1 + interval '24 hours' RETURNING *)
    INSERT INTO %1$s (hour, dimension, value, %2$s, %3$s)
    SELECT $1, dimension, CASE dimension WHEN 'minute' THEN public.minute_text($1) ELSE value END, %2$s, %4$s
    FROM folded GROUP BY 2, 3, %2$s
  $sql$, rollup, columns.keys, columns.sums, columns.added) USING first;
  RETURN first IS NOT NULL;
END
$function$;

-- Makes a service's rollups anew, of all its counts: of a database that has none yet, or that was copied by its rows into a
-- server whose transactions have other numbers.
CREATE OR REPLACE FUNCTION public.rebuild_rollups(service text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  kind text := CASE service WHEN 'billing' THEN 'revenue' ELSE 'count' END;
  before_all CONSTANT xid8 := '1';
  counts text;
  columns record;
BEGIN
  SELECT * INTO columns FROM public.count_columns(format('%I.rollup_%s', service, kind)::regclass);
  EXECUTE format('DELETE FROM %I.rollup_%s', service, kind);
  FOREACH counts IN ARRAY ARRAY['minute_' || kind, 'packed_' || kind] LOOP
    EXECUTE format('UPDATE %I.%I SET written_by = $1 WHERE written_by > $1', service, counts) USING before_all;
  END LOOP;
  EXECUTE format($sql$
    INSERT INTO %1$I.rollup_%2$s (hour, dimension, value, %3$s, %4$s)
    SELECT hour, dimension, value, %3$s, %5$s FROM (%6$s) AS counts GROUP BY hour, dimension, value, %3$s
  $sql$, service, kind, columns.keys, columns.sums, columns.added, public.query_by_dimension(service,
    format('SELECT * FROM %1$I.hour_%2$s UNION ALL SELECT * FROM %1$I.day_%2$s', service, kind)));
  UPDATE pipeline.rollup AS r SET last_transaction = '0' WHERE r.service = rebuild_rollups.service;
  WHILE public.roll_up_counts(service, 1, 1000000) LOOP END LOOP;
END
$function$;
