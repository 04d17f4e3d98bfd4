-- What no budget could pay the network bears, for each app and day up to a cap (B4): beyond it nobody pays, and nobody is
-- paid. In the order of the fates, so that the same batches come to the same.
CREATE OR REPLACE FUNCTION billing.cap_unfunded(
  INOUT settlement billing.settlement, batch billing.settle_batch, draws billing.settle_draw[], cap bigint
) LANGUAGE plpgsql AS $function$
DECLARE
  ready billing.settle_ready[] := settlement.ready;
  fates billing.settle_fate[] := settlement.fates;
  borne record;
BEGIN
  IF cap IS NULL OR NOT EXISTS (
    SELECT FROM unnest(ready) AS r WHERE r.fate = vocabulary.charge_fate('unfunded')
    UNION ALL SELECT FROM unnest(fates) AS f WHERE f.fate = vocabulary.charge_fate('unfunded')
  ) THEN
    RETURN;
  END IF;
  FOR borne IN
    SELECT e.is_ready, e.index, t.app, t.currency, public.day_of(e.serve_id) AS day, t.developer_amount AS amount
    FROM (
      SELECT true AS is_ready, r.index, w.terms, w.kind, w.serve_id
      FROM unnest(ready) WITH ORDINALITY AS r (batch_number, position, fate, version, index)
      JOIN billing.waiting_row w ON w.partition = batch.partition AND w.batch_number = r.batch_number
        AND w.position = r.position
      WHERE r.fate = vocabulary.charge_fate('unfunded')
      UNION ALL
      SELECT false, d.index, d.terms, d.kind, d.serve_id FROM billing.fated_draws(settlement, draws) AS d
      WHERE d.fate = vocabulary.charge_fate('unfunded')
    ) AS e LEFT JOIN LATERAL billing.priced_terms(e.terms, e.kind, vocabulary.charge_fate('unfunded')) AS t ON true
    ORDER BY e.is_ready DESC, e.index
  LOOP
    INSERT INTO billing.unfunded_day AS stored (partition, app, day, currency, amount)
    SELECT batch.partition, borne.app, borne.day, borne.currency, borne.amount WHERE borne.amount <= cap
    ON CONFLICT (partition, day, app, currency) DO UPDATE SET amount = stored.amount + excluded.amount
      WHERE stored.amount + excluded.amount <= cap;
    CONTINUE WHEN FOUND;
    IF borne.is_ready THEN
      ready[borne.index] := ROW(ready[borne.index].batch_number, ready[borne.index].position,
        vocabulary.charge_fate('unpaid'), ready[borne.index].version)::billing.settle_ready;
    ELSE
      fates[borne.index] := ROW(vocabulary.charge_fate('unpaid'), fates[borne.index].version)::billing.settle_fate;
    END IF;
  END LOOP;
  -- Of ads served so long ago nothing is charged any more but what waits for a person, and that keeps its day open.
  DELETE FROM billing.unfunded_day WHERE partition = batch.partition AND day < least(
    batch.decided_at::date - 60, (SELECT (h.open_from AT TIME ZONE 'UTC')::date FROM sealed.head h));
  settlement.ready := ready;
  settlement.fates := fates;
END
$function$;

-- A partition's part of the cap, as billing noted it: for what a person has settled.
CREATE OR REPLACE FUNCTION billing.noted_unfunded_cap(of_partition int) RETURNS bigint LANGUAGE plpgsql STABLE AS $function$
DECLARE
  partition_count bigint := (SELECT count(*) FROM billing.partition);
  cap bigint := (SELECT c.nanos FROM billing.unfunded_cap c WHERE c.partition = of_partition);
BEGIN
  IF cap IS NULL THEN
    RAISE EXCEPTION 'billing has not noted what the network bears in partition %: it does when it next opens it', of_partition
    USING ERRCODE = 'HB008', HINT = 'Start billing, wait until it is ready, and try again';
  END IF;
  RETURN (cap + partition_count - 1) / partition_count;
END
$function$;
