-- What every service does about its partitions and batches.

-- Ends a transaction whose fence did not change exactly its partition's row: the partition has another owner. An error,
-- and not a number for the client to look at, so that the whole transaction can be sent at once.
CREATE OR REPLACE FUNCTION public.hold_fence(rows_changed bigint) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  IF rows_changed IS DISTINCT FROM 1 THEN
    RAISE EXCEPTION 'the partition has another owner' USING ERRCODE = 'HB001';
  END IF;
END
$function$;

-- Where a partition stands in each of its topics, a row for each: the arrays of its row, side by side.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      CREATE OR REPLACE VIEW %1$I.input AS
      SELECT p.partition, i.topic, i.next_offset, i.last_offset, i.last_timestamp, i.last_hash, i.consumed_sequence,
        i.consumed_watermark, i.place
      FROM %1$I.partition p CROSS JOIN LATERAL unnest(p.input_topics, p.next_offsets, p.last_offsets, p.last_timestamps,
        p.last_hashes, p.consumed_sequences, p.consumed_watermarks) WITH ORDINALITY
        AS i (topic, next_offset, last_offset, last_timestamp, last_hash, consumed_sequence, consumed_watermark, place);
      CREATE OR REPLACE VIEW %1$I.output AS
      SELECT p.partition, o.topic, o.next_sequence, o.confirmed_sequence
      FROM %1$I.partition p CROSS JOIN LATERAL unnest(p.output_topics, p.next_sequences, p.confirmed_sequences)
        AS o (topic, next_sequence, confirmed_sequence);
    $ddl$, service);
  END LOOP;
END
$do$;

-- A batch without records, at the positions where everything stands now: what a person changes has its place in the order.
CREATE OR REPLACE FUNCTION public.add_empty_batch(service text, partition_number int, number bigint) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  EXECUTE format($sql$
    INSERT INTO %1$I.batch (partition, batch_number, committed_at, watermark, input_topics, first_offsets, next_offsets,
      output_topics, first_sequences, next_sequences, outcomes)
    SELECT p.partition, $2, clock_timestamp(), p.watermark, i.topics, i.offsets, i.offsets, o.topics, o.sequences,
      o.sequences, ''
    FROM %1$I.partition p,
      (SELECT coalesce(array_agg(topic ORDER BY topic), '{}') AS topics,
         coalesce(array_agg(next_offset ORDER BY topic), '{}') AS offsets
       FROM %1$I.input WHERE partition = $1) i,
      (SELECT coalesce(array_agg(topic ORDER BY topic), '{}') AS topics,
         coalesce(array_agg(next_sequence ORDER BY topic), '{}') AS sequences
       FROM %1$I.output WHERE partition = $1) o
    WHERE p.partition = $1
  $sql$, service) USING partition_number, number;
END
$function$;

-- Notes the windows by which a partition's new owner decides, where they are others than the last owner's; in the
-- transaction that makes it the owner. What was replaced 60 days ago goes: no window is longer than 7 days, so that
-- nothing of then can still be decided.
CREATE OR REPLACE FUNCTION public.keep_windows(service text, partition_number int, names text[], lengths bigint[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  PERFORM public.hold_service(service);
  EXECUTE format($sql$
    INSERT INTO %1$I.windows (partition, name, in_force_from, milliseconds)
    SELECT $1, own.name, clock_timestamp(), own.milliseconds
    FROM unnest($2, $3) AS own (name, milliseconds)
    WHERE own.milliseconds IS DISTINCT FROM (
      SELECT w.milliseconds FROM %1$I.windows w WHERE w.partition = $1 AND w.name = own.name
      ORDER BY w.in_force_from DESC LIMIT 1)
  $sql$, service) USING partition_number, names, lengths;
  EXECUTE format($sql$
    DELETE FROM %1$I.windows w WHERE w.partition = $1 AND EXISTS (
      SELECT FROM %1$I.windows later WHERE later.partition = $1 AND later.name = w.name
        AND later.in_force_from > w.in_force_from AND later.in_force_from < now() - interval '60 days')
  $sql$, service) USING partition_number;
END
$function$;

-- Removes allotments that nothing can name or ask for any more, at most `most` of them: ad selection's and billing's, whose
-- serves are all of days that are sealed and dropped. Billing's have ended before the sums of allotments that are still compared
-- begin, ad selection's are closed, and what was published of either has arrived. What comes of such a serve is late as after
-- the end of any allotment: a number that was granted once is never granted again. Says how many went.
CREATE OR REPLACE FUNCTION public.forget_allotments(service text, most int) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  kept_since timestamptz;
  gone bigint := 0;
BEGIN
  PERFORM public.hold_service(service);
  -- The trackers have none.
  IF service NOT IN ('ad_selection', 'billing') THEN RETURN 0; END IF;
  SELECT least(h.ended_before, min(d.first)::timestamp AT TIME ZONE 'UTC') INTO kept_since
  FROM sealed.head h CROSS JOIN public.day_tables(
    CASE service WHEN 'ad_selection' THEN 'ad_selection.decision_row' ELSE 'billing.charge_row' END::regclass) AS d
  GROUP BY h.ended_before;
  IF service = 'billing' THEN
    DELETE FROM billing.allotment WHERE (id, partition) IN (
      SELECT a.id, a.partition FROM billing.allotment a JOIN billing.partition p ON p.partition = a.partition
      WHERE a.ended_at < kept_since AND a.id <= billing.allotment_id(p.partition, p.confirmed_sequences[1])
      LIMIT most);
    GET DIAGNOSTICS gone = ROW_COUNT;
  ELSE
    DELETE FROM ad_selection.allotment WHERE (id, partition) IN (
      SELECT a.id, a.partition FROM ad_selection.allotment a JOIN ad_selection.partition p ON p.partition = a.partition
      WHERE a.closed_at < kept_since AND a.serve_until < kept_since AND a.report_sequence <= p.confirmed_sequences[1]
      LIMIT most);
    GET DIAGNOSTICS gone = ROW_COUNT;
  END IF;
  RETURN gone;
END
$function$;

-- Takes the keys, which are ids of clients, off rejected records that came before `keys_before`: nobody sends them again (A8);
-- and what was kept of those that came before `values_before`: reason, length and hash stay. At most `most` of each, so that
-- no transaction is long. Says how many changed.
CREATE OR REPLACE FUNCTION public.forget_rejected(
  service text, keys_before timestamptz, values_before timestamptz, most int
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  unkeyed bigint;
  emptied bigint;
BEGIN
  PERFORM public.hold_service(service);
  EXECUTE format('UPDATE %1$I.rejected SET record_key = NULL WHERE (partition, topic, batch_number, record_offset) IN (
      SELECT partition, topic, batch_number, record_offset FROM %1$I.rejected
      WHERE record_key IS NOT NULL AND arrival < $1 ORDER BY arrival LIMIT $2)', service)
    USING keys_before, most;
  GET DIAGNOSTICS unkeyed = ROW_COUNT;
  EXECUTE format('UPDATE %1$I.rejected SET value = NULL, header_names = NULL, header_values = NULL
    WHERE (partition, topic, batch_number, record_offset) IN (
      SELECT partition, topic, batch_number, record_offset FROM %1$I.rejected
      WHERE (value IS NOT NULL OR header_names IS NOT NULL) AND arrival < $1 ORDER BY arrival LIMIT $2)', service)
    USING values_before, most;
  GET DIAGNOSTICS emptied = ROW_COUNT;
  RETURN unkeyed + emptied;
END
$function$;

-- Removes a service's sealed batches that were committed before `oldest`, with what was rejected, lost and missed then: at
-- most `most` batches of each partition, so that no transaction is long. Says how many batches went; fewer than before
-- means that nothing is left. The last batch of a partition stays: the ranges of the next one join it.
CREATE OR REPLACE FUNCTION public.forget_batches(service text, oldest timestamptz, most int) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  partition_number int;
  last_number bigint;
  topics text[];
  gone bigint;
  total bigint := 0;
BEGIN
  PERFORM public.hold_service(service);
  -- One instance is enough.
  IF NOT pg_try_advisory_xact_lock(hashtext('forget_batches'), hashtext(service)) THEN RETURN 0; END IF;
  FOR partition_number IN EXECUTE format('SELECT partition FROM %I.partition ORDER BY partition', service) LOOP
    EXECUTE format(
      'SELECT max(batch_number) FROM (
         SELECT batch_number, committed_at FROM %1$I.batch WHERE partition = $1 AND batch_number < (
           SELECT batch_number FROM %1$I.partition WHERE partition = $1)
           AND batch_number <= (SELECT s.batch_number FROM sealed.batch s WHERE s.service = %1$L AND s.partition = $1)
         ORDER BY batch_number LIMIT $2
       ) AS first WHERE committed_at < $3', service)
      INTO last_number USING partition_number, most, oldest;
    CONTINUE WHEN last_number IS NULL;
    EXECUTE format(
      'WITH forgotten AS (
         DELETE FROM %I.batch WHERE partition = $1 AND batch_number <= $2 RETURNING input_topics
       ) SELECT (SELECT count(*) FROM forgotten), ARRAY(SELECT DISTINCT unnest(input_topics) FROM forgotten)', service)
      INTO gone, topics USING partition_number, last_number;
    total := total + gone;
    -- A batch names all topics that it read. By them the key is stepped through, and nothing is read of what stays.
    EXECUTE format('DELETE FROM %I.rejected WHERE partition = $1 AND topic = ANY ($3) AND batch_number <= $2', service)
      USING partition_number, last_number, topics;
    EXECUTE format('DELETE FROM %I.lost_range WHERE partition = $1 AND batch_number <= $2', service)
      USING partition_number, last_number;
    IF service = 'billing' THEN
      DELETE FROM billing.suspense WHERE partition = partition_number AND batch_number <= last_number
        AND voided_at IS NOT NULL;
    END IF;
    -- The last one of a topic stays: the next one has the number after it.
    EXECUTE format(
      'DELETE FROM %1$I.gap_request g WHERE g.partition = $1 AND g.noticed_at < $2 AND EXISTS (
         SELECT FROM %1$I.gap_request later
         WHERE later.partition = g.partition AND later.topic = g.topic AND later.number > g.number)', service)
      USING partition_number, oldest;
  END LOOP;
  IF service = 'billing' THEN
    -- A budget day is some hours longer than its date. What would still be charged to one so old has no day's table either.
    DELETE FROM treasury.campaign_day WHERE day < (oldest AT TIME ZONE 'UTC')::date - 3 - date '1970-01-01'
      AND day <= (SELECT budget_day FROM sealed.head) AND allotted = 0 AND waiting = 0;
  END IF;
  RETURN total;
END
$function$;
