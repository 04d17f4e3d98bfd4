-- Days of the tables of served ads, whose keys are UUIDs of version 7.

-- The millisecond, counted from 1970, in which an id of version 7 was made, and the first id that can be made in one. Nothing in
-- them is only stable: of what the planner knows it knows these too, and spares the tables of other days.
CREATE OR REPLACE FUNCTION public.ms_of(id uuid) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT ('x' || encode(substr(uuid_send(id), 1, 6), 'hex'))::bit(48)::bigint
$function$;
CREATE OR REPLACE FUNCTION public.first_uuid_of_ms(ms bigint) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT (lpad(to_hex(ms), 12, '0') || repeat('0', 20))::uuid
$function$;

-- The lowest UUID of version 7 that can be made on a day: where the tables of served ads are cut.
CREATE OR REPLACE FUNCTION public.first_uuid_of_day(day date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT public.first_uuid_of_ms((day - date '1970-01-01')::bigint * 86400000)
$function$;

-- The first UUID of version 7 that can be made at a moment: where served ads before and after it are divided.
CREATE OR REPLACE FUNCTION public.first_uuid_at(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE moment
    WHEN '-infinity' THEN '00000000-0000-0000-0000-000000000000'
    WHEN 'infinity' THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    ELSE public.first_uuid_of_ms(floor(extract(epoch FROM moment) * 1000)::bigint)
  END
$function$;

-- The first UUID that can be made in the span in which another was made: spans have so many milliseconds, counted from 1970.
CREATE OR REPLACE FUNCTION public.first_uuid_of_span(id uuid, span_ms bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT public.first_uuid_of_ms(public.ms_of(id) / span_ms * span_ms)
$function$;

-- The first UUID that can be made so many milliseconds after another was made, or before that where they are below 0.
CREATE OR REPLACE FUNCTION public.first_uuid_apart(id uuid, ms bigint) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT public.first_uuid_of_ms(greatest(public.ms_of(id) + ms, 0))
$function$;

-- The day, in UTC, that an id of version 7 was made on: of a serve id, the day of the decision.
CREATE OR REPLACE FUNCTION public.day_of(id uuid) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT date '1970-01-01' + (public.ms_of(id) / 86400000)::int
$function$;

-- An error unless whoever has logged in may add batches to a service's schema: for functions that work in the owner's name,
-- and so must know for whom. What is no service's, such as temporary tables, is nobody's.
CREATE OR REPLACE FUNCTION public.hold_service(service text) RETURNS void LANGUAGE plpgsql STABLE AS $function$
BEGIN
  IF (service = ANY (ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'])
    AND has_table_privilege(session_user, format('%I.batch', service), 'INSERT')) IS NOT TRUE
  THEN
    RAISE EXCEPTION '% is not the service of the schema %', session_user, service USING ERRCODE = 'insufficient_privilege';
  END IF;
END
$function$;

-- The same by a table of the service's.
CREATE OR REPLACE FUNCTION public.hold_service_of(relation regclass) RETURNS void LANGUAGE sql STABLE AS $function$
  SELECT public.hold_service(n.nspname::text) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE c.oid = relation
$function$;

-- The tables that a parent is cut into, with the days that each has: from `first` on, before `next`. Most have one day; how
-- many, a service's HANDBILL_DAY_TABLE_DAYS said when it was made.
CREATE OR REPLACE FUNCTION public.day_tables(parent regclass) RETURNS TABLE (part regclass, first date, next date)
LANGUAGE sql STABLE AS $function$
  SELECT c.oid::regclass, to_date(right(c.relname, 8), 'YYYYMMDD'),
    public.day_of(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''([0-9a-f-]{36})''\)')::uuid)
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = parent
$function$;

-- The days that have tables.
CREATE OR REPLACE FUNCTION public.days_with_tables(parent regclass) RETURNS datemultirange LANGUAGE sql STABLE AS $function$
  SELECT coalesce(range_agg(daterange(first, next)), '{}') FROM public.day_tables(parent)
$function$;

-- Has no statistics made of a table's arrays: no plan needs them, and of packs ANALYZE would take every element apart, again
-- and again while a day grows.
CREATE OR REPLACE FUNCTION public.spare_arrays(relation regclass) RETURNS void LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  changes text := (
    SELECT string_agg(format('ALTER COLUMN %I SET STATISTICS 0', attname), ', ') FROM pg_attribute
    WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped AND attstattarget IS DISTINCT FROM 0
      AND format_type(atttypid, atttypmod) LIKE '%[]');
BEGIN
  IF changes IS NOT NULL THEN EXECUTE format('ALTER TABLE %s %s', relation, changes); END IF;
END
$function$;

-- Makes the tables of the days from `back` days ago, or from the last day that has one, to `ahead` days on: whoever was away
-- for long, though not beyond `retention_days`, leaves no gap, in which events still wait in the log. A table has `width` days,
-- counted from 1970, but for those that another has already: who changes the width goes on where the tables of before end. Safe
-- to call from several instances at once. A table is made apart and attached: no batch waits for it.
CREATE OR REPLACE FUNCTION public.keep_days(
  parent regclass, today date, back int, ahead int, retention_days int, width int DEFAULT 1
) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  path text;
  day date;
  next_day date;
  had datemultirange;
BEGIN
  PERFORM public.hold_service_of(parent);
  PERFORM pg_advisory_xact_lock(hashtext('keep_days'), parent::oid::int);
  PERFORM set_config('lock_timeout', '50ms', true);
  SELECT format('%I.%I', n.nspname, c.relname || '_') INTO path
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
  had := public.days_with_tables(parent);
  day := least(today - back,
    greatest(coalesce(upper(had), today), today - greatest(retention_days, back)));
  WHILE day <= today + ahead LOOP
    -- A day whose sums are kept has had its rows: whatever comes for it now is refused.
    IF had @> day OR public.is_sealed(day) THEN
      day := day + 1;
      CONTINUE;
    END IF;
    next_day := date '1970-01-01' + ((day - date '1970-01-01') / width + 1) * width;
    next_day := least(next_day, (SELECT min(lower(r)) FROM unnest(had) AS r WHERE lower(r) > day));
    EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING CONSTRAINTS INCLUDING DEFAULTS INCLUDING STORAGE)',
      path || to_char(day, 'YYYYMMDD'), parent);
    PERFORM public.spare_arrays((path || to_char(day, 'YYYYMMDD'))::regclass);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %s FOR VALUES FROM (%L) TO (%L)', parent,
      path || to_char(day, 'YYYYMMDD'), public.first_uuid_of_day(day), public.first_uuid_of_day(next_day));
    day := next_day;
  END LOOP;
END
$function$;

-- Whether the sums of a day are kept, so that its rows may go.
CREATE OR REPLACE FUNCTION public.is_sealed(day date) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT (day + 1)::timestamp AT TIME ZONE 'UTC' <= open_from FROM sealed.head
$function$;

-- The spans of time whose rows may still say of which client they are, and are to say it no longer (A8): of each table those
-- from what its key notes on until `before`, as far as it is sealed, in whole seconds. A 12th of the table's time at most, for
-- a vacuum to free what that leaves behind before more of it is changed. The note is the key's: one on the table itself, as
-- releases before made it, waits for its vacuum.
CREATE OR REPLACE FUNCTION public.client_spans(parent regclass, before timestamptz)
RETURNS TABLE (part regclass, key regclass, since timestamptz, until timestamptz) LANGUAGE sql STABLE AS $function$
  SELECT * FROM (
    SELECT d.part, i.indexrelid::regclass, note.since, least(note.since + (d.next - d.first) * interval '2 hours',
      d.next::timestamp AT TIME ZONE 'UTC', date_trunc('second', before), h.open_from) AS until
    FROM sealed.head AS h, public.day_tables(parent) AS d JOIN pg_index AS i ON i.indrelid = d.part AND i.indisprimary,
      coalesce(obj_description(i.indexrelid, 'pg_class'), obj_description(d.part, 'pg_class')) AS noted (text),
      LATERAL (SELECT CASE noted.text WHEN 'without clients' THEN d.next
        ELSE coalesce(substring(noted.text FROM 'without clients before (.*)')::timestamp, d.first) END AT TIME ZONE 'UTC'
      ) AS note (since)
  ) AS spans WHERE since < until
$function$;

-- Takes the hashes of clients, and of the networks that they asked from, out of a table's rows from the beginning of its span
-- until `ends`: out of the first `share` of their `shares`, and with the last one the table's key notes it. A share's rows lie on
-- all of their pages, and fit where those of the share before it were; of all at once, side by side, table and key would become
-- twice as large. False, and nothing is done, where another instance is at it: all is left to that one.
CREATE OR REPLACE FUNCTION public.forget_clients(
  own regclass, begins timestamptz, ends timestamptz, share int, shares int
) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  parent regclass := (SELECT inhparent FROM pg_inherits WHERE inhrelid = own);
  own_key regclass;
BEGIN
  PERFORM public.hold_service_of(own);
  -- Twice: who comes too late must not take the lock from the one that works.
  FOR look IN 1..2 LOOP
    SELECT s.key INTO own_key FROM public.client_spans(parent, ends) AS s
    WHERE s.part = own AND s.since = begins AND s.until = ends;
    IF NOT FOUND OR look = 1 AND NOT pg_try_advisory_xact_lock(hashtext('forget_clients'), parent::oid::int) THEN
      RETURN false;
    END IF;
  END LOOP;
  -- A pack's serves are of one second.
  EXECUTE format(CASE parent
      WHEN 'ad_selection.decision_pack'::regclass THEN 'UPDATE %s
        SET client_hashes = array_fill(0::bigint, ARRAY[cardinality(client_hashes)]),
          edge_networks = array_fill(NULL::int, ARRAY[cardinality(client_hashes)])
        WHERE (0 <> ANY (client_hashes) OR array_remove(edge_networks, NULL) <> ''{}'')'
      WHEN 'ad_selection.decision_row'::regclass THEN 'UPDATE %s SET client_hash = 0, edge_network = NULL
        WHERE (client_hash <> 0 OR edge_network IS NOT NULL)'
      ELSE 'UPDATE %s SET client_hash = 0 WHERE client_hash <> 0'
    END || ' AND serve_id >= $1 AND serve_id < $2 AND abs(uuid_hash(serve_id) %% $4) < $3', own)
    USING public.first_uuid_at(begins), public.first_uuid_at(ends), share, shares;
  IF share = shares THEN
    EXECUTE format('COMMENT ON INDEX %s IS %L', own_key,
      'without clients before ' || to_char(ends AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'));
  END IF;
  RETURN true;
END
$function$;

-- Drops the oldest table whose days are all before `oldest`, if they are sealed. Says which day it began with, if one went,
-- and how many days before `oldest` stay because they are not sealed. A batch never waits for it longer than the limit: then
-- this fails, and is to be tried again.
CREATE OR REPLACE FUNCTION public.drop_day(parent regclass, oldest date, OUT dropped date, OUT unsealed int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  gone regclass;
BEGIN
  PERFORM public.hold_service_of(parent);
  SELECT coalesce(sum(d.next - d.first) FILTER (WHERE NOT public.is_sealed(d.next - 1)), 0),
    min(d.first) FILTER (WHERE public.is_sealed(d.next - 1))
  INTO unsealed, dropped FROM public.day_tables(parent) AS d WHERE d.next <= oldest;
  IF dropped IS NULL THEN RETURN; END IF;
  -- Another instance drops it.
  IF NOT pg_try_advisory_xact_lock(hashtext('keep_days'), parent::oid::int) THEN
    dropped := NULL;
    RETURN;
  END IF;
  SELECT d.part INTO gone FROM public.day_tables(parent) AS d WHERE d.first = dropped;
  IF gone IS NOT NULL THEN EXECUTE format('DROP TABLE %s', gone); END IF;
END
$function$;
