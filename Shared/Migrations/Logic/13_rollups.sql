-- Counts rolled up by one dimension each: what reports over days and months read.

-- How a rollup names a minute.
CREATE OR REPLACE FUNCTION public.minute_text(minute timestamptz) RETURNS text LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT to_char(minute AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:00"Z"')
$function$;

-- Which server this is: its copies are the same one, and one that was made anew is another.
CREATE OR REPLACE FUNCTION public.server_identifier() RETURNS bigint LANGUAGE sql STABLE AS $function$
  SELECT system_identifier FROM pg_control_system()
$function$;

-- A service's rollups.
CREATE OR REPLACE FUNCTION public.rollup_of(service text) RETURNS regclass LANGUAGE sql STABLE AS $function$
  SELECT format('%I.rollup_%s', service, public.count_kind(service))::regclass
$function$;

-- What a service's counts are rolled up by: of each dimension the columns, and its value of them. Revenue is rolled up by whom it
-- is paid to, and by who pays it for which campaign, as well.
CREATE OR REPLACE FUNCTION public.dimensions(service text) RETURNS TABLE (name text, columns text, value text)
LANGUAGE sql IMMUTABLE AS $function$
  VALUES ('all', '', ''''''), ('minute', 'minute', 'public.minute_text(minute)'), ('app', 'app', 'app'),
    ('campaign', 'campaign', 'campaign'), ('ad', 'ad', 'ad'), ('country', 'country', 'country'), ('size', 'size', 'size::text'),
    ('device', 'device', 'device::text'), ('placement', 'placement', 'placement')
  UNION ALL SELECT * FROM (VALUES ('developer', 'developer', 'developer'),
    ('advertiser', 'advertiser, campaign', 'ARRAY[advertiser, campaign]::text')) AS revenue WHERE service = 'billing'
$function$;

-- Of a service's counts those that are rolled up. An error that a device told without an ad names its app unchecked: at least the
-- app is one.
CREATE OR REPLACE FUNCTION public.are_rolled_up(service text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE service WHEN 'impression_tracking'
    THEN 'campaign <> '''' OR EXISTS (SELECT FROM catalog.record r WHERE r.key = ''app/'' || app)' ELSE 'true' END
$function$;

-- A query of `counts` of a service, itself a query, once for each dimension: for who asks for one of them.
CREATE OR REPLACE FUNCTION public.query_by_dimension(service text, counts text) RETURNS text
LANGUAGE sql STABLE AS $function$
  SELECT format($query$
    SELECT date_trunc('hour', minute, 'UTC') AS hour, d.dimension, d.value, %s, %s
    FROM (%s) AS counted CROSS JOIN LATERAL (VALUES %s) AS d (dimension, value) WHERE %s
  $query$, of.keys, of.sums, counts,
    (SELECT string_agg(format('(%L, %s)', name, value), ', ') FROM public.dimensions(service)), public.are_rolled_up(service))
  FROM public.count_columns(public.rollup_of(service)) AS of
$function$;

-- A statement that rolls up `counts` of a service, a query. It takes them apart once, and groups them by all dimensions at once: a
-- third of what it takes one after the other.
CREATE OR REPLACE FUNCTION public.query_to_roll_up(service text, counts text) RETURNS text
LANGUAGE sql STABLE AS $function$
  SELECT format($query$
    INSERT INTO %8$s AS known (hour, dimension, value, %3$s, %9$s)
    SELECT hour, CASE %1$s ELSE 'all' END, CASE %2$s ELSE '' END, %3$s, %4$s
    FROM (SELECT *, date_trunc('hour', minute, 'UTC') AS hour FROM (%5$s) AS counts) AS counted WHERE %6$s
    GROUP BY hour, %3$s, GROUPING SETS (%7$s)
    ON CONFLICT (dimension, hour, value, %3$s) DO UPDATE SET %10$s
  $query$, of.dimension, of.value, columns.keys, columns.added, counts, public.are_rolled_up(service), of.sets,
    public.rollup_of(service), columns.sums, columns.merged)
  FROM public.count_columns(public.rollup_of(service)) AS columns, (
    -- What has more columns first: its last is another's only one.
    SELECT string_agg(format('WHEN grouping(%s) = 0 THEN %L', d.columns, d.name), ' ' ORDER BY d.columns LIKE '%,%' DESC)
        FILTER (WHERE d.columns <> '') AS dimension,
      string_agg(format('WHEN grouping(%s) = 0 THEN %s', d.columns, d.value), ' ' ORDER BY d.columns LIKE '%,%' DESC)
        FILTER (WHERE d.columns <> '') AS value,
      string_agg(format('(%s)', d.columns), ', ') AS sets
    FROM public.dimensions(service) AS d
  ) AS of
$function$;

-- Of each service all counts by hour and dimension: the rollups, and what is not rolled up yet.
DO $do$
DECLARE
  service text;
  kind text;
  columns record;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    kind := public.count_kind(service);
    SELECT * INTO columns FROM public.count_columns(public.rollup_of(service));
    EXECUTE format('CREATE OR REPLACE VIEW %I.%s_by_dimension AS SELECT hour, dimension, value, %s, %s FROM %s UNION ALL ',
        service, kind, columns.keys, columns.sums, public.rollup_of(service))
      || public.query_by_dimension(service, format('SELECT * FROM %I.unrolled_%s', service, kind));
    EXECUTE format('COMMENT ON VIEW %I.%s_by_dimension IS %L', service, kind,
      'All that is counted, by the hour, of old ones by the day, once for each dimension. Choose one; add up with sum().');
  END LOOP;
END
$do$;

-- The next transactions whose counts are rolled up: the last of them, and how many counts they wrote, of the oldest 2,000 rows,
-- packed or not, and about `most` counts. Only of such before which all have ended: nothing can come between them any more.
CREATE OR REPLACE FUNCTION public.next_rollup(service text, most bigint, OUT newest xid8, OUT counts bigint, OUT is_last boolean)
LANGUAGE plpgsql STABLE AS $function$
BEGIN
  EXECUTE format($sql$
    SELECT (array_agg(written_by ORDER BY written_by DESC))[1], coalesce(sum(counts), 0)::bigint,
      count(*) < 2000 AND coalesce(sum(counts), 0) < $3
    FROM (
      SELECT written_by, counts, sum(counts) OVER (ORDER BY written_by ROWS UNBOUNDED PRECEDING) - counts AS before FROM (
        SELECT written_by, counts FROM (
          (SELECT written_by, 1 AS counts FROM %1$I.minute_%2$s WHERE written_by > $1 AND written_by < $2
            ORDER BY written_by LIMIT 2000)
          UNION ALL
          (SELECT written_by, cardinality(%3$I) FROM %1$I.packed_%2$s WHERE written_by > $1 AND written_by < $2
            ORDER BY written_by LIMIT 2000)
        ) AS written ORDER BY written_by LIMIT 2000
      ) AS oldest
    ) AS added WHERE before < $3
  $sql$, service, public.count_kind(service), CASE service WHEN 'ad_selection' THEN 'requests' ELSE 'events' END)
    INTO newest, counts, is_last
    USING (SELECT last_transaction FROM pipeline.rollup AS r WHERE r.service = next_rollup.service),
      pg_snapshot_xmin(pg_current_snapshot()), most;
END
$function$;

-- Rolls up what the next transactions have counted: about `most` counts, and whatever else the last of them wrote. Where there
-- are fewer than `fewest`, and it was done within the hour, nothing is: what is not rolled up is read as it is. Says whether there
-- may be more.
CREATE OR REPLACE FUNCTION public.roll_up_counts(service text, fewest bigint, most bigint) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off SET work_mem = '32MB' AS $function$
DECLARE
  mark pipeline.rollup;
  next record;
BEGIN
  PERFORM public.hold_service(service);
  IF NOT pg_try_advisory_xact_lock(hashtext('roll_up_counts'), hashtext(service)) THEN RETURN false; END IF;
  SELECT * INTO mark FROM pipeline.rollup AS r WHERE r.service = roll_up_counts.service;
  IF mark.server <> public.server_identifier() THEN
    RAISE EXCEPTION 'the counts of % were copied from another server, whose transactions have other numbers: run handbill migrate up',
      service;
  END IF;
  SELECT * INTO next FROM public.next_rollup(service, most);
  IF next.newest IS NULL OR next.counts < fewest AND mark.rolled_up_at > now() - interval '1 hour' THEN RETURN false; END IF;
  EXECUTE public.query_to_roll_up(
      service, format('SELECT * FROM %I.unrolled_%s WHERE written_by <= $1', service, public.count_kind(service)))
    USING next.newest;
  UPDATE pipeline.rollup AS r SET last_transaction = next.newest, rolled_up_at = now() WHERE r.service = roll_up_counts.service;
  RETURN NOT next.is_last;
END
$function$;

-- Rolls up by the hour what is by the minute before `hours_before`, and by the day one day of what is by the hour before
-- `days_before`: both are named so that their own indexes (0063_day_count_tables) find them, and nothing is read of what is
-- folded. Says whether there may be more.
CREATE OR REPLACE FUNCTION public.fold_rollups(service text, hours_before timestamptz, days_before timestamptz) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET jit = off AS $function$
DECLARE
  rollup regclass := public.rollup_of(service);
  columns record;
  first timestamptz;
BEGIN
  PERFORM public.hold_service(service);
  IF NOT pg_try_advisory_xact_lock(hashtext('roll_up_counts'), hashtext(service)) THEN RETURN false; END IF;
  SELECT * INTO columns FROM public.count_columns(rollup);
  EXECUTE format($sql$
    WITH folded AS (
      DELETE FROM %1$s WHERE dimension = 'minute' AND hour < $1 AND right(value, 7) <> ':00:00Z' RETURNING *
    )
    INSERT INTO %1$s AS known (hour, dimension, value, %2$s, %3$s)
    SELECT hour, dimension, public.minute_text(hour), %2$s, %4$s FROM folded GROUP BY hour, dimension, %2$s
    ON CONFLICT (dimension, hour, value, %2$s) DO UPDATE SET %5$s
  $sql$, rollup, columns.keys, columns.sums, columns.added, columns.merged) USING hours_before;
  EXECUTE format($sql$
    SELECT hour FROM %s WHERE dimension = 'all' AND hour < $1
      AND hour AT TIME ZONE 'UTC' <> date_trunc('day', hour AT TIME ZONE 'UTC') ORDER BY hour LIMIT 1
  $sql$, rollup) INTO first USING days_before;
  first := date_trunc('day', first, 'UTC');
  EXECUTE format($sql$
    WITH folded AS (
      DELETE FROM %1$s WHERE dimension = ANY ($2) AND hour >= $1 AND hour < $1 + interval '24 hours' RETURNING *
    )
    INSERT INTO %1$s (hour, dimension, value, %2$s, %3$s)
    SELECT $1, dimension, CASE dimension WHEN 'minute' THEN public.minute_text($1) ELSE value END, %2$s, %4$s
    FROM folded GROUP BY 2, 3, %2$s
  $sql$, rollup, columns.keys, columns.sums, columns.added)
    USING first, ARRAY(SELECT name FROM public.dimensions(service));
  RETURN first IS NOT NULL;
END
$function$;

-- Makes a service's rollups anew, of all its counts, a day at a time: of a database that has none yet, or that was copied by its
-- rows into another server, whose transactions have other numbers. Rollups of days whose counts are dropped stay as they are.
-- Nobody counts, rolls up or folds meanwhile.
CREATE OR REPLACE FUNCTION public.rebuild_rollups(service text) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET jit = off SET work_mem = '32MB' AS $function$
DECLARE
  kind text := public.count_kind(service);
  -- Rows that are older than any transaction of this server.
  before_all CONSTANT xid8 := '1';
  counts text;
  beginnings text;
  day timestamptz;
  next_day timestamptz := '-infinity';
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('roll_up_counts'), hashtext(service));
  FOREACH counts IN ARRAY ARRAY['minute_', 'packed_', 'hour_', 'day_'] LOOP
    counts := format('%I.%I', service, counts || kind);
    beginnings := concat_ws(' UNION ALL ', beginnings, format('SELECT min(minute) FROM %s WHERE minute >= $1', counts));
    -- Nothing is counted meanwhile: it would be rolled up here, and once more by its transaction.
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', counts);
    PERFORM pg_advisory_xact_lock(hashtext('fold_counts'), counts::regclass::oid::int);
    IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = counts::regclass AND attname = 'written_by') THEN
      EXECUTE format('UPDATE %s SET written_by = $1 WHERE written_by > $1', counts) USING before_all;
    END IF;
  END LOOP;
  counts := format('SELECT * FROM %I.all_%s WHERE minute >= $1 AND minute < $2', service, kind);
  beginnings := format('SELECT date_trunc(''day'', min(minute), ''UTC'') FROM (%s) AS beginnings (minute)', beginnings);
  EXECUTE beginnings INTO day USING next_day;
  EXECUTE format('DELETE FROM %s WHERE hour >= $1', public.rollup_of(service)) USING day;
  WHILE day IS NOT NULL LOOP
    next_day := day + interval '24 hours';
    EXECUTE public.query_to_roll_up(service, counts) USING day, next_day;
    EXECUTE beginnings INTO day USING next_day;
  END LOOP;
  UPDATE pipeline.rollup AS r SET last_transaction = before_all, server = public.server_identifier(), rolled_up_at = now()
  WHERE r.service = rebuild_rollups.service;
END
$function$;
