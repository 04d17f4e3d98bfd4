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
  is_waited_for boolean[] := settlement.is_waited_for;
  fates billing.settle_fate[] := settlement.fates;
  draw billing.settle_draw;
  levels int[];
  level int;
  new_fate smallint;
BEGIN
  FOREACH draw IN ARRAY draws LOOP
    levels := ARRAY[settlement.account_rows[draw.day], settlement.campaign_rows[draw.day],
      settlement.day_rows[draw.day]];
    versions[levels[1]] := versions[levels[1]] + 1;
    new_fate := CASE
      WHEN draw.is_late THEN CASE WHEN draw.price <= billing.unclaimed(free, waiting, levels)
        THEN vocabulary.charge_fate('charged') ELSE vocabulary.charge_fate('late') END
      WHEN draw.price <= billing.least_of(free, levels) AND NOT is_waited_for[draw.day]
        THEN vocabulary.charge_fate('charged')
      WHEN draw.price <= billing.least_of(remaining, levels) THEN vocabulary.charge_fate('waiting')
      ELSE vocabulary.charge_fate('unfunded') END;
    fates := fates || ROW(new_fate, versions[levels[1]])::billing.settle_fate;
    IF new_fate = vocabulary.charge_fate('waiting') THEN is_waited_for[draw.day] := true; END IF;
    FOREACH level IN ARRAY levels LOOP
      IF new_fate = vocabulary.charge_fate('charged') THEN
        charged[level] := charged[level] + draw.price;
        free[level] := free[level] - draw.price;
        remaining[level] := remaining[level] - draw.price;
      ELSIF new_fate = vocabulary.charge_fate('waiting') THEN
        waits[level] := waits[level] + draw.price;
        waiting[level] := waiting[level] + draw.price;
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
