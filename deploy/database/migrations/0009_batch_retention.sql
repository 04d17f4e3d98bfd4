-- Publishing again finds the batches of a sequence without reading all of them; what every service keeps about its
-- batches ends with retention; sequences whose rows retention took before they were published are recorded.

DO $$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      CREATE INDEX batch_sequence ON %1$I.batch (partition, (next_sequences[1]));

      -- Sequences of outputs that will never be published: consumers were told so in their place.
      CREATE TABLE %1$I.lost_sequence (
        partition int NOT NULL,
        topic text NOT NULL,
        first_sequence bigint NOT NULL,
        next_sequence bigint NOT NULL CHECK (next_sequence > first_sequence),
        found_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (partition, topic, first_sequence, next_sequence)
      );
    $ddl$, service);
  END LOOP;
END
$$;

-- Removes a service's batches that were committed before `oldest`, with what was rejected, lost and missed then: at most
-- `most` batches of each partition, so that no transaction is long. Says how many batches went; fewer than before means
-- that nothing is left. The last batch of a partition stays: the ranges of the next one join it.
CREATE FUNCTION public.forget_batches(service text, oldest timestamptz, most int) RETURNS bigint LANGUAGE plpgsql AS
$function$
DECLARE
  place int;
  last_number bigint;
  gone bigint;
  total bigint := 0;
BEGIN
  -- One instance is enough.
  IF NOT pg_try_advisory_xact_lock(hashtext('forget_batches'), hashtext(service)) THEN RETURN 0; END IF;
  FOR place IN EXECUTE format('SELECT partition FROM %I.partition ORDER BY partition', service) LOOP
    EXECUTE format(
      'SELECT max(batch_number) FROM (
         SELECT batch_number, committed_at FROM %1$I.batch WHERE partition = $1 AND batch_number < (
           SELECT batch_number FROM %1$I.partition WHERE partition = $1)
         ORDER BY batch_number LIMIT $2
       ) AS first WHERE committed_at < $3', service)
      INTO last_number USING place, most, oldest;
    CONTINUE WHEN last_number IS NULL;
    EXECUTE format('DELETE FROM %I.batch WHERE partition = $1 AND batch_number <= $2', service)
      USING place, last_number;
    GET DIAGNOSTICS gone = ROW_COUNT;
    total := total + gone;
    EXECUTE format('DELETE FROM %I.rejected WHERE partition = $1 AND batch_number <= $2', service)
      USING place, last_number;
    EXECUTE format('DELETE FROM %I.lost_range WHERE partition = $1 AND batch_number <= $2', service)
      USING place, last_number;
    EXECUTE format('DELETE FROM %I.missing WHERE partition = $1 AND noticed_at < $2', service) USING place, oldest;
  END LOOP;
  RETURN total;
END
$function$;
