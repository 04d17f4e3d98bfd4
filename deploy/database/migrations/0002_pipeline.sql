-- What every service keeps about its partitions (design: "Exactly once"). Each service has these tables in its own
-- schema and is the only one that writes them; `missing` alone is read by another service, the producing one.

CREATE FUNCTION public.create_pipeline_tables(service text) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  EXECUTE format($ddl$
    -- Who owns a partition, and its last batch. Every batch updates its row first: that is the fence.
    CREATE TABLE %1$I.partition (
      partition int PRIMARY KEY CHECK (partition >= 0),
      epoch bigint NOT NULL DEFAULT 0,
      backend_pid int,
      batch_number bigint NOT NULL DEFAULT 0,
      watermark timestamptz NOT NULL DEFAULT 'epoch',
      outbox_id bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 20);

    -- The position in each input, and the record that proves which log it belongs to.
    CREATE TABLE %1$I.input (
      partition int NOT NULL,
      topic text NOT NULL,
      next_offset bigint NOT NULL CHECK (next_offset >= 0),
      last_offset bigint,
      last_timestamp bigint,
      last_hash bigint,
      taken_sequence bigint NOT NULL DEFAULT 0,
      taken_watermark timestamptz NOT NULL DEFAULT 'epoch',
      PRIMARY KEY (partition, topic)
    ) WITH (fillfactor = 20);

    -- The position in each output with sequences.
    CREATE TABLE %1$I.output (
      partition int NOT NULL,
      topic text NOT NULL,
      next_sequence bigint NOT NULL DEFAULT 1,
      emitted_sequence bigint NOT NULL DEFAULT 0,
      PRIMARY KEY (partition, topic),
      CHECK (emitted_sequence < next_sequence)
    ) WITH (fillfactor = 20);

    -- One row for each batch, with one byte of outcome for every offset, input after input (I3).
    CREATE TABLE %1$I.batch (
      partition int NOT NULL,
      batch_number bigint NOT NULL,
      committed_at timestamptz NOT NULL,
      watermark timestamptz NOT NULL,
      first_arrival timestamptz,
      last_arrival timestamptz,
      input_topics text[] NOT NULL,
      first_offsets bigint[] NOT NULL,
      next_offsets bigint[] NOT NULL,
      output_topics text[] NOT NULL,
      first_sequences bigint[] NOT NULL,
      next_sequences bigint[] NOT NULL,
      outcomes bytea NOT NULL,
      PRIMARY KEY (partition, batch_number)
    );

    -- Offsets that were never decided because the log had lost them, or a person skipped them.
    CREATE TABLE %1$I.lost_range (
      partition int NOT NULL,
      topic text NOT NULL,
      first_offset bigint NOT NULL,
      next_offset bigint NOT NULL CHECK (next_offset > first_offset),
      batch_number bigint NOT NULL,
      detail text NOT NULL,
      PRIMARY KEY (partition, topic, first_offset, batch_number)
    );

    -- Rare outputs (forwarded, rejected) as bytes, until delivered.
    CREATE TABLE %1$I.outbox (
      partition int NOT NULL,
      id bigint NOT NULL,
      topic text NOT NULL,
      target_partition int NOT NULL,
      key bytea,
      value bytea,
      header_names bytea[] NOT NULL,
      header_values bytea[] NOT NULL,
      PRIMARY KEY (partition, id)
    );

    -- Every rejected record, with its numbered reason and, within the limit per minute, its original bytes.
    CREATE TABLE %1$I.rejected (
      partition int NOT NULL,
      topic text NOT NULL,
      record_offset bigint NOT NULL,
      batch_number bigint NOT NULL,
      arrival timestamptz NOT NULL,
      reason smallint NOT NULL,
      detail text NOT NULL,
      value bytea,
      value_length bigint NOT NULL,
      value_hash bytea NOT NULL,
      PRIMARY KEY (partition, topic, batch_number, record_offset)
    );

    -- Sequences of inputs that this service misses; the producing service reads them and publishes again.
    CREATE TABLE %1$I.missing (
      number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      partition int NOT NULL,
      topic text NOT NULL,
      sequence bigint NOT NULL,
      noticed_at timestamptz NOT NULL DEFAULT now()
    );
    CREATE INDEX ON %1$I.missing (partition, topic, number);

    -- Up to which row of each consumer's `missing` this service has answered.
    CREATE TABLE %1$I.answered_missing (
      consumer text NOT NULL,
      partition int NOT NULL,
      topic text NOT NULL,
      number bigint NOT NULL,
      PRIMARY KEY (consumer, partition, topic)
    );
  $ddl$, service);
END
$function$;

SELECT public.create_pipeline_tables(service)
FROM unnest(ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing']) AS service;

-- The lowest UUID of version 7 that can be made on a day: where the tables of served ads are cut.
CREATE FUNCTION public.first_uuid_of_day(day date) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (lpad(to_hex((day - date '1970-01-01')::bigint * 86400000), 12, '0') || repeat('0', 20))::uuid
$function$;

-- Makes the tables of the days from `back` days ago, or from the last day that has one, to `ahead` days on, and drops
-- those older than `retention_days`. So whoever was away for long leaves no gap, in which events still wait in the log.
-- Safe to call from several instances at once.
CREATE FUNCTION public.keep_days(parent regclass, today date, back int, ahead int, retention_days int)
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  schema_name text;
  table_name text;
  day date;
  last_day date;
  old record;
BEGIN
  SELECT n.nspname, c.relname INTO schema_name, table_name
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = parent;
  PERFORM pg_advisory_xact_lock(hashtext('keep_days'), parent::oid::int);
  SELECT max(to_date(right(c.relname, 8), 'YYYYMMDD')) INTO last_day
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = parent;
  FOR day IN SELECT generate_series(
    least(today - back, greatest(coalesce(last_day + 1, today), today - greatest(retention_days, back))),
    today + ahead, interval '1 day')::date
  LOOP
    EXECUTE format(
      'CREATE TABLE IF NOT EXISTS %I.%I PARTITION OF %s FOR VALUES FROM (%L) TO (%L)',
      schema_name, table_name || '_' || to_char(day, 'YYYYMMDD'), parent,
      public.first_uuid_of_day(day), public.first_uuid_of_day(day + 1));
  END LOOP;
  FOR old IN
    SELECT c.oid::regclass AS part, to_date(right(c.relname, 8), 'YYYYMMDD') AS day
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = parent
  LOOP
    IF old.day < today - greatest(retention_days, back) THEN
      EXECUTE format('DROP TABLE %s', old.part);
    END IF;
  END LOOP;
END
$function$;
