-- Counts: what batches add to minutes, folded into hours, and those into days, which go when they are old.

-- Ends a transaction that counts where somebody else has counted: `counted` does not stand where it should.
CREATE OR REPLACE FUNCTION public.hold_counted(rows_changed bigint) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  IF rows_changed IS DISTINCT FROM 1 THEN
    RAISE EXCEPTION 'somebody else has counted the partition' USING ERRCODE = 'HB005';
  END IF;
END
$function$;

-- How a service's tables of counts are named, behind the time that their rows are of.
CREATE OR REPLACE FUNCTION public.count_kind(service text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE service WHEN 'billing' THEN 'revenue' ELSE 'count' END
$function$;

-- What counts are counted by, and what is summed, as lists of columns; and how sums are made, and added to `known` ones. Sums are
-- what is of type bigint or numeric; everything else, but for when and where, is what they are counted by.
CREATE OR REPLACE FUNCTION public.count_columns(counts regclass, OUT keys text, OUT sums text, OUT added text, OUT merged text)
LANGUAGE sql STABLE AS $function$
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FILTER (WHERE NOT is_sum),
    string_agg(quote_ident(attname), ', ' ORDER BY attnum) FILTER (WHERE is_sum),
    string_agg(format('sum(%I)', attname), ', ' ORDER BY attnum) FILTER (WHERE is_sum),
    string_agg(format('%1$I = known.%1$I + excluded.%1$I', attname), ', ' ORDER BY attnum) FILTER (WHERE is_sum)
  FROM (
    SELECT attname, attnum, atttypid IN ('bigint'::regtype, 'numeric'::regtype) AS is_sum FROM pg_attribute
    WHERE attrelid = counts AND attnum > 0 AND NOT attisdropped
      AND attname NOT IN ('partition', 'minute', 'hour', 'dimension', 'value')
  ) AS columns
$function$;

-- The counts of a service, each row of a minute, of an hour, or of a day: whoever reads adds up. And those that are not rolled up
-- yet (13_rollups.sql).
DO $do$
DECLARE
  service text;
  kind text;
  names text;
  arrays text;
  elements text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    kind := public.count_kind(service);
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
      string_agg(format('p.%I', attname), ', ' ORDER BY attnum),
      string_agg(format('c.%I::%s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
    INTO names, arrays, elements FROM pg_attribute
    WHERE attrelid = format('%I.day_%s', service, kind)::regclass AND attnum > 2 AND NOT attisdropped;
    EXECUTE format($view$
      CREATE OR REPLACE VIEW %1$I.all_%2$s AS
      SELECT partition, minute, %3$s FROM %1$I.minute_%2$s
      UNION ALL SELECT p.partition, p.minute, %5$s FROM %1$I.packed_%2$s AS p, unnest(%4$s) AS c (%3$s)
      UNION ALL SELECT partition, minute, %3$s FROM %1$I.hour_%2$s
      UNION ALL SELECT partition, minute, %3$s FROM %1$I.day_%2$s
    $view$, service, kind, names, arrays, elements);
    EXECUTE format('COMMENT ON VIEW %I.all_%s IS %L', service, kind,
      'What is counted, by the minute, of older days by the hour, then by the day, until these go. Add up with sum().');
    -- The upper bound, below which all are, has the planner expect few, and go by the index.
    EXECUTE format($view$
      CREATE OR REPLACE VIEW %1$I.unrolled_%2$s AS
      SELECT minute, %3$s, written_by FROM %1$I.minute_%2$s
      WHERE written_by > (SELECT last_transaction FROM pipeline.rollup WHERE service = %1$L)
        AND written_by < '18446744073709551615'
      UNION ALL
      SELECT p.minute, c.*, p.written_by FROM %1$I.packed_%2$s AS p, unnest(%4$s) AS c (%3$s)
      WHERE p.written_by > (SELECT last_transaction FROM pipeline.rollup WHERE service = %1$L)
        AND p.written_by < '18446744073709551615'
    $view$, service, kind, names, arrays);
    EXECUTE format('COMMENT ON VIEW %I.unrolled_%s IS %L', service, kind,
      'What is counted and not rolled up yet, with the transaction that wrote it.');
  END LOOP;
END
$do$;

-- Makes the tables of a parent that is cut by `step` ('day' or 'month', UTC) from `oldest` to `newest`, and drops those
-- that end before `oldest` and are empty. Appending never waits for a new table, and for an old one's end no longer than
-- the limit: then this fails, and is done later.
CREATE OR REPLACE FUNCTION public.keep_count_tables(
  parent regclass, step text, oldest timestamptz, newest timestamptz
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  length interval := ('1 ' || step)::interval;
  first timestamp := date_trunc(step, oldest AT TIME ZONE 'UTC');
  path text;
  beginning timestamp;
  is_there boolean;
  old record;
BEGIN
  PERFORM public.hold_service_of(parent);
  IF NOT pg_try_advisory_xact_lock(hashtext('keep_count_tables'), parent::oid::int) THEN RETURN; END IF;
  SELECT format('%I.%I', n.nspname, c.relname || '_') INTO path
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
  FOR beginning IN SELECT generate_series(first, newest AT TIME ZONE 'UTC', length) LOOP
    CONTINUE WHEN to_regclass(path || to_char(beginning, 'YYYYMMDD')) IS NOT NULL;
    -- What came while there was no table stays where it is: it is read and folded there.
    EXECUTE format('SELECT EXISTS (SELECT FROM %s WHERE minute >= $1 AND minute < $2)', path || 'other')
      INTO is_there USING beginning AT TIME ZONE 'UTC', (beginning + length) AT TIME ZONE 'UTC';
    CONTINUE WHEN is_there;
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING CONSTRAINTS INCLUDING DEFAULTS)',
      path || to_char(beginning, 'YYYYMMDD'), parent);
    PERFORM public.spare_arrays((path || to_char(beginning, 'YYYYMMDD'))::regclass);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', parent,
      path || to_char(beginning, 'YYYYMMDD'), beginning AT TIME ZONE 'UTC', (beginning + length) AT TIME ZONE 'UTC');
  END LOOP;
  FOR old IN
    SELECT c.oid::regclass AS part FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = parent AND c.relname ~ '_[0-9]{8}$'
      AND to_date(right(c.relname, 8), 'YYYYMMDD') + length <= first
  LOOP
    -- The first look costs nobody anything; under the lock nothing can come any more.
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', old.part) INTO is_there;
    CONTINUE WHEN is_there;
    EXECUTE format('LOCK TABLE ONLY %s IN ACCESS EXCLUSIVE MODE', parent);
    EXECUTE format('SELECT EXISTS (SELECT FROM %s)', old.part) INTO is_there;
    IF NOT is_there THEN EXECUTE format('DROP TABLE %s', old.part); END IF;
  END LOOP;
END
$function$;

-- Folds the rows, packed or not, that one partition has in the oldest unit ('hour' or 'day', UTC) of `source` from `since` on
-- and before `before`, a beginning of a day: they are deleted, and what they add up to is appended to `target`. Of very many
-- rows the oldest: a unit may have several rows of one kind. What is not rolled up stays. Says when the unit began; null when
-- nothing is left, or somebody else folds. What comes late is another row, and folded later.
CREATE OR REPLACE FUNCTION public.fold_counts(
  source regclass, target regclass, unit text, since timestamptz, before timestamptz
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms'
AS $function$
DECLARE
  oldest timestamptz;
  first timestamptz;
  later timestamptz;
  partition_number int;
  columns record;
  is_packed boolean;
  rows text := 'folded';
  condition text := 'minute >= $1 AND minute < $2';
BEGIN
  PERFORM public.hold_service_of(source), public.hold_service_of(target);
  IF NOT pg_try_advisory_xact_lock(hashtext('fold_counts'), source::oid::int) THEN RETURN NULL; END IF;
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = source AND attname = 'written_by') THEN
    condition := condition || format(' AND written_by <= (SELECT last_transaction FROM pipeline.rollup WHERE service = %L)',
      (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = source));
  END IF;
  EXECUTE format('SELECT minute, partition FROM %s WHERE %s ORDER BY minute, partition LIMIT 1', source, condition)
    INTO oldest, partition_number USING since, before;
  IF oldest IS NULL THEN RETURN NULL; END IF;
  first := date_trunc(unit, oldest, 'UTC');
  SELECT * INTO columns FROM public.count_columns(target);
  SELECT bool_or(attndims > 0) INTO is_packed FROM pg_attribute WHERE attrelid = source AND attnum > 0;
  IF is_packed THEN
    rows := format('(SELECT c.* FROM folded, unnest(%1$s, %2$s) AS c (%1$s, %2$s)) AS counts', columns.keys, columns.sums);
  END IF;
  condition := condition || ' AND partition = $3';
  later := first + CASE unit WHEN 'hour' THEN interval '1 hour' ELSE interval '24 hours' END;
  EXECUTE format('SELECT minute FROM %s WHERE %s ORDER BY minute OFFSET $4 LIMIT 1', source, condition)
    INTO oldest USING oldest, later, partition_number, CASE WHEN is_packed THEN 2000 ELSE 500000 END;
  -- At least a minute's: all of one time go together.
  later := least(later, oldest + interval '1 minute');
  EXECUTE format($sql$
    WITH folded AS (DELETE FROM %1$s WHERE %7$s RETURNING *)
    INSERT INTO %2$s (minute, partition, %3$s, %4$s) SELECT $1, $3, %3$s, %5$s FROM %6$s GROUP BY %3$s
  $sql$, source, target, columns.keys, columns.sums, columns.added, rows, condition) USING first, later, partition_number;
  RETURN first;
END
$function$;

-- Drops of a service the table of the oldest month (UTC) of counts of days that is over before `oldest`; of days that have no table
-- of their month, the rows of one day. Only what is sealed goes, which no comparison reads, and only months of which everything is
-- folded, and so rolled up: of what is left no day lacks a part. Says whether there may be more.
CREATE OR REPLACE FUNCTION public.drop_counts(service text, oldest timestamptz) RETURNS boolean LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  days regclass := format('%I.day_%s', service, public.count_kind(service));
  other regclass := format('%I.day_%s_other', service, public.count_kind(service));
  before timestamptz;
  part regclass;
  day timestamptz;
BEGIN
  PERFORM public.hold_service(service);
  IF NOT pg_try_advisory_xact_lock(hashtext('keep_count_tables'), days::oid::int) THEN RETURN false; END IF;
  EXECUTE format($sql$
    SELECT date_trunc('month', least($1, (SELECT open_from FROM sealed.head), (SELECT min(minute) FROM %1$I.minute_%2$s),
      (SELECT min(minute) FROM %1$I.packed_%2$s), (SELECT min(minute) FROM %1$I.hour_%2$s)), 'UTC')
  $sql$, service, public.count_kind(service)) INTO before USING oldest;
  EXECUTE format('SELECT tableoid, minute FROM %s WHERE minute < $1 ORDER BY minute LIMIT 1', days) INTO part, day USING before;
  IF part = other THEN
    EXECUTE format('DELETE FROM %s WHERE minute = $1', other) USING day;
  ELSIF part IS NOT NULL THEN
    EXECUTE format('DROP TABLE %s', part);
  END IF;
  RETURN part IS NOT NULL;
END
$function$;
