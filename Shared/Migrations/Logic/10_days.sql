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

-- Makes the tables of the days from `back` days ago, or from the last day that has one, to `ahead` days on: whoever was away
-- for long, though not beyond `retention_days`, leaves no gap, in which events still wait in the log. Safe to call from
-- several instances at once. A table is made apart and attached: no batch waits for it.
CREATE OR REPLACE FUNCTION public.keep_days(parent regclass, today date, back int, ahead int, retention_days int)
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  schema_name text;
  table_name text;
  day date;
  last_day date;
BEGIN
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

-- Drops the oldest table of a day before `oldest`, if that day is sealed. Says which day went, if one did, and how many
-- days before `oldest` stay because they are not sealed. A batch never waits for it longer than the limit: then this
-- fails, and is to be tried again.
CREATE OR REPLACE FUNCTION public.drop_day(parent regclass, oldest date, OUT dropped date, OUT unsealed int)
LANGUAGE plpgsql SET lock_timeout = '50ms' AS $function$
DECLARE
  part regclass;
BEGIN
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
