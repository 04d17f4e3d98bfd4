-- The partition's events that wait at the settlement's days, day by day, each in the order in which it began to:
-- charged when there is enough free, unfunded when no return can pay it any more. One that must go on waiting holds up
-- those behind it.
CREATE OR REPLACE FUNCTION billing.settle_waiting(
  INOUT settlement billing.settlement, batch billing.settle_batch, ready_maximum int
) LANGUAGE plpgsql AS $function$
DECLARE
  free numeric[] := settlement.free;
  remaining numeric[] := settlement.remaining;
  waiting numeric[] := settlement.waiting;
  waits numeric[] := settlement.waits;
  charged numeric[] := settlement.charged;
  versions bigint[] := settlement.versions;
  levels billing.settlement_level[] := settlement.levels;
  ready billing.settle_ready[] := settlement.ready;
  level billing.settlement_level;
  entry int;
  named record;
  waiter record;
  new_fate smallint;
BEGIN
  FOR named IN
    SELECT * FROM billing.settled_days(settlement.accounts, settlement.campaigns, settlement.days) AS d ORDER BY d.index
  LOOP
    level := levels[named.index];
    FOR waiter IN
      SELECT w.batch_number, w.position, w.price FROM billing.waiting_row w
      WHERE w.partition = batch.partition AND w.budget_day = named.day AND w.campaign = named.campaign
        AND w.advertiser = named.advertiser AND w.currency = named.currency
      ORDER BY w.batch_number, w.position
    LOOP
      new_fate := billing.draw_fate(waiter.price, free, remaining, level, false);
      -- What is beyond one batch is looked at by the next.
      IF new_fate = vocabulary.charge_fate('waiting') OR cardinality(ready) >= ready_maximum THEN
        settlement.is_waited_for[named.index] := true;
        EXIT;
      END IF;
      versions[level.account] := versions[level.account] + 1;
      ready := ready || ROW(waiter.batch_number, waiter.position, new_fate, versions[level.account])::billing.settle_ready;
      FOREACH entry IN ARRAY ARRAY[level.account, level.campaign, level.day] LOOP
        waits[entry] := waits[entry] - waiter.price;
        waiting[entry] := waiting[entry] - waiter.price;
        IF new_fate = vocabulary.charge_fate('charged') THEN
          charged[entry] := charged[entry] + waiter.price;
          free[entry] := free[entry] - waiter.price;
          remaining[entry] := remaining[entry] - waiter.price;
        END IF;
      END LOOP;
    END LOOP;
  END LOOP;
  settlement.free := free;
  settlement.remaining := remaining;
  settlement.waiting := waiting;
  settlement.waits := waits;
  settlement.charged := charged;
  settlement.versions := versions;
  settlement.ready := ready;
END
$function$;
