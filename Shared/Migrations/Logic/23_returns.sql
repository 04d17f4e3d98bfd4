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
  WHERE a.id = c.allotment AND a.partition = batch.partition AND a.state < 3;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> cardinality(charges) THEN
    RAISE EXCEPTION '% allotments are to be charged, % can be', cardinality(charges), changed USING ERRCODE = 'HB002';
  END IF;
END
$function$;

-- Of an allotment that closes (state 2), what was not used returns, though never what is charged already; of one that
-- ends (3), what was not charged, and what was stays charged.
CREATE OR REPLACE FUNCTION billing.return_allotments(
  INOUT settlement billing.settlement, batch billing.settle_batch, returned billing.settle_return[]
) LANGUAGE plpgsql AS $function$
DECLARE
  r billing.settle_return;
  places int[];
  closes boolean;
  before bigint;
  after bigint;
  reserve bigint;
BEGIN
  FOREACH r IN ARRAY returned LOOP
    places := billing.budget_rows(settlement, r.day);
    closes := r.state = 2;
    settlement.versions[places[1]] := settlement.versions[places[1]] + 1;
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
      close_version = CASE WHEN closes THEN settlement.versions[places[1]] ELSE a.close_version END,
      ended_at = CASE WHEN closes THEN a.ended_at ELSE r.returned_at END,
      end_version = CASE WHEN closes THEN a.end_version ELSE settlement.versions[places[1]] END
    WHERE a.id = r.allotment;
    settlement.allotted := billing.add_to(
      settlement.allotted, places, CASE WHEN closes THEN after - before ELSE -before END);
    settlement.free := billing.add_to(settlement.free, places, before - after);
    IF NOT closes THEN
      settlement.charged := billing.add_to(settlement.charged, places, after);
      settlement.remaining := billing.add_to(settlement.remaining, places, -after);
    END IF;
  END LOOP;
END
$function$;
