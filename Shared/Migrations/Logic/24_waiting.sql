-- The partition's events that wait at the settlement's days, day by day, each in the order in which it began to:
-- charged when there is enough free, unfunded when no return can pay it any more. One that must go on waiting holds up
-- those behind it.
CREATE OR REPLACE FUNCTION billing.settle_waiting(
  INOUT settlement billing.settlement, batch billing.settle_batch, ready_maximum int
) LANGUAGE plpgsql AS $function$
DECLARE
  account billing.settle_account;
  places int[];
  waiter record;
  new_fate smallint;
BEGIN
  FOR i IN 1..cardinality(settlement.days) LOOP
    places := billing.budget_rows(settlement, i);
    account := settlement.accounts[places[1]];
    FOR waiter IN
      SELECT w.batch_number, w.position, w.price FROM billing.waiting w
      WHERE w.partition = batch.partition AND w.budget_day = (settlement.days[i]).day
        AND w.campaign = (settlement.campaigns[(settlement.days[i]).campaign]).campaign
        AND w.advertiser = account.advertiser AND w.currency = account.currency
      ORDER BY w.batch_number, w.position
    LOOP
      new_fate := CASE WHEN waiter.price <= billing.least_of(settlement.free, places) THEN 1
        WHEN waiter.price > billing.least_of(settlement.remaining, places) THEN 2 END;
      -- What is beyond one batch is looked at by the next.
      IF new_fate IS NULL OR cardinality(settlement.ready) >= ready_maximum THEN
        settlement.is_waited_for[i] := true;
        EXIT;
      END IF;
      settlement.versions[places[1]] := settlement.versions[places[1]] + 1;
      settlement.ready := settlement.ready || ROW(waiter.batch_number, waiter.position, new_fate,
        settlement.versions[places[1]])::billing.settle_ready;
      settlement := billing.await_budgets(settlement, places, -waiter.price);
      IF new_fate = 1 THEN settlement := billing.charge_budgets(settlement, places, waiter.price); END IF;
    END LOOP;
  END LOOP;
END
$function$;
