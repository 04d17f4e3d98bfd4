-- Events that no allotment could pay, in the batch's order (B4): each is charged whole or not at all. What finds too
-- little free budget waits while allotments that have not ended may still return enough, and what comes after it to the
-- same day waits behind it; what no return can pay any more is unfunded. What came after its allotment's end never
-- waits: it is charged from what nobody waits for, or free.
CREATE OR REPLACE FUNCTION billing.settle_draws(INOUT settlement billing.settlement, draws billing.settle_draw[])
LANGUAGE plpgsql IMMUTABLE AS $function$
DECLARE
  free numeric[] := settlement.free;
  remaining numeric[] := settlement.remaining;
  waiting numeric[] := settlement.waiting;
  waits numeric[] := settlement.waits;
  charged numeric[] := settlement.charged;
  versions bigint[] := settlement.versions;
  levels billing.settlement_level[] := settlement.levels;
  is_waited_for boolean[] := settlement.is_waited_for;
  fates billing.settle_fate[] := settlement.fates;
  draw billing.settle_draw;
  level billing.settlement_level;
  entry int;
  new_fate smallint;
BEGIN
  FOREACH draw IN ARRAY draws LOOP
    level := levels[draw.day];
    versions[level.account] := versions[level.account] + 1;
    new_fate := CASE
      WHEN NOT draw.is_late THEN billing.draw_fate(draw.price, free, remaining, level, is_waited_for[draw.day])
      WHEN draw.price <= billing.unclaimed(free, waiting, level) THEN vocabulary.charge_fate('charged')
      ELSE vocabulary.charge_fate('late') END;
    fates := fates || ROW(new_fate, versions[level.account])::billing.settle_fate;
    IF new_fate = vocabulary.charge_fate('waiting') THEN is_waited_for[draw.day] := true; END IF;
    FOREACH entry IN ARRAY ARRAY[level.account, level.campaign, level.day] LOOP
      IF new_fate = vocabulary.charge_fate('charged') THEN
        charged[entry] := charged[entry] + draw.price;
        free[entry] := free[entry] - draw.price;
        remaining[entry] := remaining[entry] - draw.price;
      ELSIF new_fate = vocabulary.charge_fate('waiting') THEN
        waits[entry] := waits[entry] + draw.price;
        waiting[entry] := waiting[entry] + draw.price;
      END IF;
    END LOOP;
  END LOOP;
  settlement.free := free;
  settlement.remaining := remaining;
  settlement.waiting := waiting;
  settlement.waits := waits;
  settlement.charged := charged;
  settlement.versions := versions;
  settlement.is_waited_for := is_waited_for;
  settlement.fates := fates;
END
$function$;
