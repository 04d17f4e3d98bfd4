-- What holds of a partition across the sessions that work for it.

-- Which session this is, among all that may work for a partition: whoever takes the partition over can end it.
CREATE OR REPLACE FUNCTION pipeline.session() RETURNS int LANGUAGE sql STABLE PARALLEL RESTRICTED AS $function$
  SELECT pg_backend_pid()
$function$;

-- The epoch of a partition's next owner, after `last`. None is ever given twice, also where the database was put back: what
-- an owner from before has still to write bears one that nobody has. So it goes by the clock, in milliseconds since 1970.
CREATE OR REPLACE FUNCTION pipeline.next_epoch(last bigint) RETURNS bigint LANGUAGE sql PARALLEL SAFE AS $function$
  SELECT greatest(last + 1, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint)
$function$;

-- Ends a session that stands still, with its locks, and waits for it no longer than that. Says whether it is gone.
CREATE OR REPLACE FUNCTION pipeline.end_session(session int, wait_ms bigint) RETURNS boolean LANGUAGE sql AS $function$
  SELECT pg_terminate_backend(session, wait_ms)
$function$;

-- Asks the producing service for a sequence, and all after it. Requests are numbered from 1 in each partition and topic, one
-- after the other: whoever asks holds the partition's row, as every batch does. The last one always stays (forget_batches).
CREATE OR REPLACE FUNCTION pipeline.request_gap(service text, partition_number int, topic text, sequence bigint) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  EXECUTE format('SELECT FROM %I.partition WHERE partition = $1 FOR UPDATE', service) USING partition_number;
  EXECUTE format($sql$
    INSERT INTO %1$I.gap_request (partition, topic, number, sequence)
    SELECT $1, $2, coalesce(max(number), 0) + 1, $3 FROM %1$I.gap_request WHERE partition = $1 AND topic = $2
  $sql$, service) USING partition_number, topic, sequence;
END
$function$;
