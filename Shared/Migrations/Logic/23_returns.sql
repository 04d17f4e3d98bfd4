-- What allotments pay, and what they return.

-- Charges to allotments of the partition's own, as far as they have not ended.
CREATE OR REPLACE FUNCTION billing.charge_allotments(batch billing.settle_batch, charges billing.settle_charge[])
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  changed bigint;
BEGIN
  UPDATE billing.allotment a SET charged = a.charged + c.amount, clicks_charged = a.clicks_charged + c.for_clicks,
    click_reserve = a.click_reserve + c.click_reserve
  FROM unnest(charges) AS c
  WHERE a.id = c.allotment AND a.partition = batch.partition AND a.state < vocabulary.allotment_state('ended');
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> cardinality(charges) THEN
    RAISE EXCEPTION '% allotments are to be charged, % can be', cardinality(charges), changed USING ERRCODE = 'HB002';
  END IF;
END
$function$;

-- Of an allotment that closes, what was not used returns, though never what is charged already; of one that ends, what
-- was not charged, and what was stays charged.
CREATE OR REPLACE FUNCTION billing.return_allotments(
  INOUT settlement billing.settlement, batch billing.settle_batch, returned billing.settle_return[]
) LANGUAGE plpgsql AS $function$
DECLARE
  free numeric[] := settlement.free;
  remaining numeric[] := settlement.remaining;
  allotted numeric[] := settlement.allotted;
  charged numeric[] := settlement.charged;
  versions bigint[] := settlement.versions;
  levels billing.settlement_level[] := settlement.levels;
  r billing.settle_return;
  level billing.settlement_level;
  entry int;
  closes boolean;
  version bigint;
  before bigint;
  after bigint;
  reserve bigint;
BEGIN
  FOREACH r IN ARRAY returned LOOP
    level := levels[r.day];
    closes := r.state = vocabulary.allotment_state('closed');
    version := versions[level.account] + 1;
    versions[level.account] := version;
    SELECT a.amount, k.amount, CASE WHEN closes THEN greatest(least(r.used_for_clicks, k.amount), a.clicks_charged)
      ELSE a.clicks_charged END INTO before, after, reserve
    FROM billing.allotment a
    CROSS JOIN LATERAL (
      SELECT CASE WHEN closes THEN least(a.amount, greatest(r.used, a.charged)) ELSE a.charged END AS amount) AS k
    WHERE a.id = r.allotment AND a.partition = batch.partition AND a.state < r.state;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'allotment % is closed or has ended before', r.allotment USING ERRCODE = 'HB002';
    END IF;
    UPDATE billing.allotment a SET state = r.state, amount = after, click_reserve = reserve,
      used = CASE WHEN closes THEN r.used ELSE a.used END,
      closed_at = CASE WHEN closes THEN r.returned_at ELSE a.closed_at END,
      close_version = CASE WHEN closes THEN version ELSE a.close_version END,
      ended_at = CASE WHEN closes THEN a.ended_at ELSE r.returned_at END,
      end_version = CASE WHEN closes THEN a.end_version ELSE version END
    WHERE a.id = r.allotment AND a.partition = batch.partition;
    FOREACH entry IN ARRAY ARRAY[level.account, level.campaign, level.day] LOOP
      allotted[entry] := allotted[entry] + CASE WHEN closes THEN after - before ELSE -before END;
      free[entry] := free[entry] + before - after;
      IF NOT closes THEN
        charged[entry] := charged[entry] + after;
        remaining[entry] := remaining[entry] - after;
      END IF;
    END LOOP;
  END LOOP;
  settlement.free := free;
  settlement.remaining := remaining;
  settlement.allotted := allotted;
  settlement.charged := charged;
  settlement.versions := versions;
END
$function$;
