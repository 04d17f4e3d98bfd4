-- Counts: what batches add to minutes, folded into hours, and those into days.

-- Ends a transaction that counts where somebody else has counted: `counted` does not stand where it should.
CREATE OR REPLACE FUNCTION public.hold_counted(rows_changed bigint) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  IF rows_changed IS DISTINCT FROM 1 THEN
    RAISE EXCEPTION 'somebody else has counted the partition' USING ERRCODE = 'HB005';
  END IF;
END
$function$;

-- All counts of a service, each row of a minute, of an hour, or of a day: whoever reads adds up.
DO $do$
DECLARE
  service text;
  kind text;
  names text;
  arrays text;
  elements text;
BEGIN
  FOR service, kind IN VALUES ('ad_selection', 'count'), ('impression_tracking', 'count'), ('click_tracking', 'count'),
    ('billing', 'revenue')
  LOOP
    SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
      string_agg(format('p.%I', attname), ', ' ORDER BY attnum),
      string_agg(format('c.%I::%s', attname, format_type(atttypid, atttypmod)), ', ' ORDER BY attnum)
    INTO names, arrays, elements FROM pg_attribute
    WHERE attrelid = format('%I.minute_%s', service, kind)::regclass AND attnum > 2 AND NOT attisdropped;
    EXECUTE format($view$
      CREATE OR REPLACE VIEW %1$I.all_%2$s AS
      SELECT partition, minute, %3$s FROM %1$I.minute_%2$s
      UNION ALL SELECT p.partition, p.minute, %5$s FROM %1$I.packed_%2$s AS p, unnest(%4$s) AS c (%3$s)
      UNION ALL SELECT partition, minute, %3$s FROM %1$I.hour_%2$s
      UNION ALL SELECT partition, minute, %3$s FROM %1$I.day_%2$s
    $view$, service, kind, names, arrays, elements);
    EXECUTE format('COMMENT ON VIEW %I.all_%s IS %L', service, kind,
      'All that is counted, by the minute, of older days by the hour, of still older ones by the day. Add up with sum().');
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
-- and before `before`, a beginning of a day: they are deleted, and what they add up to is appended to `target`. Sums are what is
-- of type bigint or numeric; everything else is what they are counted by. Says when the unit began; null when nothing is left,
-- or somebody else folds. What comes late is another row, and folded later.
CREATE OR REPLACE FUNCTION public.fold_counts(
  source regclass, target regclass, unit text, since timestamptz, before timestamptz
) RETURNS timestamptz LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms'
AS $function$
DECLARE
  first timestamptz;
  partition_number int;
  keys text;
  names text;
  sums text;
  is_packed boolean;
  rows text := 'folded';
BEGIN
  PERFORM public.hold_service_of(source), public.hold_service_of(target);
  IF NOT pg_try_advisory_xact_lock(hashtext('fold_counts'), source::oid::int) THEN RETURN NULL; END IF;
  EXECUTE format(
    'SELECT minute, partition FROM %s WHERE minute >= $1 AND minute < $2 ORDER BY minute, partition LIMIT 1', source)
    INTO first, partition_number USING since, before;
  IF first IS NULL THEN RETURN NULL; END IF;
  first := date_trunc(unit, first, 'UTC');
  SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FILTER (WHERE NOT is_sum),
    string_agg(quote_ident(attname), ', ' ORDER BY attnum) FILTER (WHERE is_sum),
    string_agg(format('sum(%I)::%s', attname, type), ', ' ORDER BY attnum) FILTER (WHERE is_sum)
  INTO keys, names, sums
  FROM (
    SELECT attname, attnum, format_type(atttypid, atttypmod) AS type,
      atttypid IN ('bigint'::regtype, 'numeric'::regtype) AS is_sum
    FROM pg_attribute
    WHERE attrelid = target AND attnum > 0 AND NOT attisdropped AND attname NOT IN ('partition', 'minute')
  ) AS columns;
  SELECT bool_or(attndims > 0) INTO is_packed FROM pg_attribute WHERE attrelid = source AND attnum > 0;
  IF is_packed THEN
    rows := format('(SELECT c.* FROM folded, unnest(%1$s, %2$s) AS c (%1$s, %2$s)) AS counts', keys, names);
  END IF;
  EXECUTE format($sql$
    WITH folded AS (DELETE FROM %1$s WHERE minute >= $1 AND minute < $2 AND partition = $3 RETURNING *)
    INSERT INTO %2$s (minute, partition, %3$s, %4$s) SELECT $1, $3, %3$s, %5$s FROM %6$s GROUP BY %3$s
  $sql$, source, target, keys, names, sums, rows)
    USING first, first + CASE unit WHEN 'hour' THEN interval '1 hour' ELSE interval '24 hours' END,
      partition_number;
  RETURN first;
END
$function$;
