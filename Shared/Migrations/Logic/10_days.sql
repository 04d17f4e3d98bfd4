-- Days of the tables of served ads, whose keys are UUIDs of version 7.

-- The lowest UUID of version 7 that can be made on a day: where the tables of served ads are cut.
CREATE OR REPLACE FUNCTION public.first_uuid_of_day(day date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (lpad(to_hex((day - date '1970-01-01')::bigint * 86400000), 12, '0') || repeat('0', 20))::uuid
$function$;

-- The first UUID of version 7 that can be made at a moment: where served ads before and after it are divided.
CREATE OR REPLACE FUNCTION public.first_uuid_at(moment timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE moment
    WHEN '-infinity' THEN '00000000-0000-0000-0000-000000000000'
    WHEN 'infinity' THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff'
    ELSE (lpad(to_hex(floor(extract(epoch FROM moment) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
  END
$function$;

-- The day, in UTC, that an id of version 7 was made on: of a serve id, the day of the decision.
CREATE OR REPLACE FUNCTION public.day_of(id uuid) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT date '1970-01-01'
    + (('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 86400000)::int
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

-- Makes the tables of the days from `back` days ago, or from the last day that has one, to `ahead` days on: whoever was away
-- for long, though not beyond `retention_days`, leaves no gap, in which events still wait in the log. Safe to call from
-- several instances at once. A table is made apart and attached: no batch waits for it.
CREATE OR REPLACE FUNCTION public.keep_days(parent regclass, today date, back int, ahead int, retention_days int)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  schema_name text;
  table_name text;
  day date;
  last_day date;
BEGIN
  PERFORM public.hold_service_of(parent);
  SELECT n.nspname, c.relname INTO schema_name, table_name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
  PERFORM pg_advisory_xact_lock(hashtext('keep_days'), parent::oid::int);
  PERFORM set_config('lock_timeout', '50ms', true);
  SELECT max(to_date(right(c.relname, 8), 'YYYYMMDD')) INTO last_day
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = parent;
  FOR day IN SELECT wanted::date FROM generate_series(
    least(today - back, greatest(coalesce(last_day + 1, today), today - greatest(retention_days, back))),
    today + ahead, interval '1 day') AS wanted
    WHERE to_regclass(format('%I.%I', schema_name, table_name || '_' || to_char(wanted, 'YYYYMMDD'))) IS NULL
  LOOP
    -- A day whose sums are kept has had its rows: whatever comes for it now is refused.
    CONTINUE WHEN public.is_sealed(day);
    EXECUTE format('CREATE TABLE %I.%I (LIKE %s INCLUDING CONSTRAINTS INCLUDING DEFAULTS)',
      schema_name, table_name || '_' || to_char(day, 'YYYYMMDD'), parent);
    EXECUTE format('ALTER TABLE %s ATTACH PARTITION %I.%I FOR VALUES FROM (%L) TO (%L)', parent,
      schema_name, table_name || '_' || to_char(day, 'YYYYMMDD'),
      public.first_uuid_of_day(day), public.first_uuid_of_day(day + 1));
  END LOOP;
END
$function$;

-- Whether the sums of a day are kept, so that its rows may go.
CREATE OR REPLACE FUNCTION public.is_sealed(day date) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT (day + 1)::timestamp AT TIME ZONE 'UTC' <= open_from FROM sealed.head
$function$;

-- The oldest sealed day before `oldest` whose rows may still say of which client they are (A8); null where none does.
CREATE OR REPLACE FUNCTION public.day_with_clients(parent regclass, oldest date) RETURNS date LANGUAGE sql STABLE AS $function$
  SELECT min(day) FROM (
    SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day, obj_description(c.oid, 'pg_class') AS note
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = parent
  ) AS days WHERE day < oldest AND public.is_sealed(day) AND note IS DISTINCT FROM 'without clients'
$function$;

-- Takes the hashes of clients out of the rows of an hour (0 to 23) of a sealed day, so that no transaction is long. With the
-- last hour it notes that the day has none.
CREATE OR REPLACE FUNCTION public.forget_clients(parent regclass, day date, hour int) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  begins timestamptz := day::timestamp AT TIME ZONE 'UTC' + hour * interval '1 hour';
  part regclass;
BEGIN
  PERFORM public.hold_service_of(parent);
  SELECT i.inhrelid::regclass INTO part FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = parent AND right(c.relname, 8) = to_char(day, 'YYYYMMDD');
  IF part IS NULL OR NOT public.is_sealed(day) THEN RETURN; END IF;
  EXECUTE format('UPDATE %s SET client_hash = 0 WHERE serve_id >= $1 AND serve_id < $2 AND client_hash <> 0', part)
    USING public.first_uuid_at(begins), public.first_uuid_at(begins + interval '1 hour');
  IF hour = 23 THEN EXECUTE format('COMMENT ON TABLE %s IS %L', part, 'without clients'); END IF;
END
$function$;

-- Drops the oldest table of a day before `oldest`, if that day is sealed. Says which day went, if one did, and how many
-- days before `oldest` stay because they are not sealed. A batch never waits for it longer than the limit: then this
-- fails, and is to be tried again.
CREATE OR REPLACE FUNCTION public.drop_day(parent regclass, oldest date, OUT dropped date, OUT unsealed int)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $function$
DECLARE
  part regclass;
BEGIN
  PERFORM public.hold_service_of(parent);
  SELECT count(*) FILTER (WHERE NOT public.is_sealed(day)), min(day) FILTER (WHERE public.is_sealed(day))
  INTO unsealed, dropped
  FROM (
    SELECT to_date(right(c.relname, 8), 'YYYYMMDD') AS day
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = parent
  ) AS days WHERE day < oldest;
  IF dropped IS NULL THEN RETURN; END IF;
  -- Another instance drops it.
  IF NOT pg_try_advisory_xact_lock(hashtext('keep_days'), parent::oid::int) THEN
    dropped := NULL;
    RETURN;
  END IF;
  SELECT i.inhrelid::regclass INTO part FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = parent AND right(c.relname, 8) = to_char(dropped, 'YYYYMMDD');
  IF part IS NOT NULL THEN EXECUTE format('DROP TABLE %s', part); END IF;
END
$function$;
