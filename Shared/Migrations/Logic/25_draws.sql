-- Events that no allotment could pay, in the batch's order (B4): each is charged whole or not at all. What finds too
-- little free budget waits while allotments that have not ended may still return enough, and what comes after it to the
-- same day waits behind it; what no return can pay any more is unfunded. What came after its allotment's end never
-- waits: it is charged from what nobody waits for, or free.
CREATE OR REPLACE FUNCTION billing.settle_draws(INOUT settlement billing.settlement, draws billing.settle_draw[])
LANGUAGE plpgsql IMMUTABLE AS $function$
DECLARE
  draw billing.settle_draw;
  places int[];
  new_fate smallint;
BEGIN
  FOREACH draw IN ARRAY draws LOOP
    places := billing.budget_rows(settlement, draw.day);
    settlement.versions[places[1]] := settlement.versions[places[1]] + 1;
    new_fate := CASE
      WHEN draw.is_late THEN CASE WHEN draw.price <= billing.unclaimed(settlement, places) THEN 1 ELSE 3 END
      WHEN draw.price <= billing.least_of(settlement.free, places) AND NOT settlement.is_waited_for[draw.day] THEN 1
      WHEN draw.price <= billing.least_of(settlement.remaining, places) THEN 4
      ELSE 2 END;
    settlement.fates := settlement.fates || ROW(new_fate, settlement.versions[places[1]])::billing.settle_fate;
    IF new_fate = 1 THEN
      settlement := billing.charge_budgets(settlement, places, draw.price);
    ELSIF new_fate = 4 THEN
      settlement.is_waited_for[draw.day] := true;
      settlement := billing.await_budgets(settlement, places, draw.price);
    END IF;
  END LOOP;
END
$function$;
