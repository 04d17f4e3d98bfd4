-- The shared rows of a settlement: locked and read at its beginning, counted with meanwhile, written at its end.

-- Locks ascending (account, campaign, day), so that nobody waits in a circle.
CREATE OR REPLACE FUNCTION billing.lock_budgets(
  accounts billing.settle_account[], campaigns billing.settle_campaign[], days billing.settle_day[]
) RETURNS billing.settlement LANGUAGE plpgsql AS $function$
DECLARE
  first_campaign int := cardinality(accounts);
  first_day int := cardinality(accounts) + cardinality(campaigns);
  nothing numeric[] := array_fill(0::numeric, ARRAY[first_day + cardinality(days)]);
  settlement billing.settlement := ROW(accounts, campaigns, days, nothing, nothing, nothing, nothing, nothing, nothing,
    array_fill(0::bigint, ARRAY[cardinality(accounts)]), array_fill(false, ARRAY[cardinality(days)]),
    ARRAY[]::billing.settle_fate[], ARRAY[]::billing.settle_ready[], 0);
  locked record;
BEGIN
  FOR locked IN
    SELECT k.index, a.requested - a.charged - a.allotted AS free, a.requested - a.charged AS remaining, a.waiting,
      a.version
    FROM unnest(accounts) WITH ORDINALITY AS k (advertiser, currency, index)
    JOIN billing.account a ON a.advertiser = k.advertiser AND a.currency = k.currency
    ORDER BY a.advertiser, a.currency FOR UPDATE OF a
  LOOP
    settlement := billing.set_budget(settlement, locked.index::int, locked.free, locked.remaining, locked.waiting);
    settlement.versions[locked.index] := locked.version;
  END LOOP;
  FOR locked IN
    SELECT k.index, c.requested - c.charged - c.allotted AS free, c.requested - c.charged AS remaining, c.waiting
    FROM unnest(campaigns) WITH ORDINALITY AS k (campaign, account, index)
    JOIN billing.campaign c ON c.campaign = k.campaign AND c.advertiser = (accounts[k.account]).advertiser
      AND c.currency = (accounts[k.account]).currency
    ORDER BY c.campaign FOR UPDATE OF c
  LOOP
    settlement := billing.set_budget(
      settlement, first_campaign + locked.index::int, locked.free, locked.remaining, locked.waiting);
  END LOOP;
  INSERT INTO billing.campaign_day (campaign, day, requested, funded)
  SELECT c.campaign, k.day, coalesce(c.daily_budget, c.requested), coalesce(c.daily_budget, c.requested)
  FROM unnest(days) AS k (day, campaign)
  JOIN billing.campaign c ON c.campaign = (campaigns[k.campaign]).campaign
    AND c.advertiser = (accounts[(campaigns[k.campaign]).account]).advertiser
    AND c.currency = (accounts[(campaigns[k.campaign]).account]).currency
  ON CONFLICT DO NOTHING;
  FOR locked IN
    SELECT k.index, d.requested - d.charged - d.allotted AS free, d.requested - d.charged AS remaining, d.waiting
    FROM unnest(days) WITH ORDINALITY AS k (day, campaign, index)
    JOIN billing.campaign_day d ON d.campaign = (campaigns[k.campaign]).campaign AND d.day = k.day
    ORDER BY d.campaign, d.day FOR UPDATE OF d
  LOOP
    settlement := billing.set_budget(
      settlement, first_day + locked.index::int, locked.free, locked.remaining, locked.waiting);
  END LOOP;
  RETURN settlement;
END
$function$;

CREATE OR REPLACE FUNCTION billing.set_budget(
  INOUT settlement billing.settlement, index int, free numeric, remaining numeric, waiting numeric
) LANGUAGE plpgsql IMMUTABLE AS $function$
BEGIN
  settlement.free[index] := free;
  settlement.remaining[index] := remaining;
  settlement.waiting[index] := waiting;
END
$function$;

-- Where a day's account, campaign and own row stand among the amounts.
CREATE OR REPLACE FUNCTION billing.budget_rows(settlement billing.settlement, day int) RETURNS int[]
LANGUAGE plpgsql IMMUTABLE AS $function$
DECLARE
  campaign int := (settlement.days[day]).campaign;
BEGIN
  RETURN ARRAY[(settlement.campaigns[campaign]).account, cardinality(settlement.accounts) + campaign,
    cardinality(settlement.accounts) + cardinality(settlement.campaigns) + day];
END
$function$;

-- `amounts` with `amount` more at each of the places.
CREATE OR REPLACE FUNCTION billing.add_to(amounts numeric[], places int[], amount numeric) RETURNS numeric[]
LANGUAGE plpgsql IMMUTABLE AS $function$
DECLARE
  place int;
BEGIN
  FOREACH place IN ARRAY places LOOP
    amounts[place] := amounts[place] + amount;
  END LOOP;
  RETURN amounts;
END
$function$;

-- The least of some amounts: a budget can pay no more than each of its rows.
CREATE OR REPLACE FUNCTION billing.least_of(amounts numeric[], places int[]) RETURNS numeric
LANGUAGE sql IMMUTABLE AS $function$
  SELECT least(amounts[places[1]], amounts[places[2]], amounts[places[3]])
$function$;

-- What is free and nobody waits for.
CREATE OR REPLACE FUNCTION billing.unclaimed(settlement billing.settlement, places int[]) RETURNS numeric
LANGUAGE sql IMMUTABLE AS $function$
  SELECT min(settlement.free[place] - settlement.waiting[place]) FROM unnest(places) AS place
$function$;

-- Charges free budget.
CREATE OR REPLACE FUNCTION billing.charge_budgets(INOUT settlement billing.settlement, places int[], amount numeric)
LANGUAGE plpgsql IMMUTABLE AS $function$
BEGIN
  settlement.charged := billing.add_to(settlement.charged, places, amount);
  settlement.free := billing.add_to(settlement.free, places, -amount);
  settlement.remaining := billing.add_to(settlement.remaining, places, -amount);
END
$function$;

-- Begins to wait for budget; with a negative amount, waits no more.
CREATE OR REPLACE FUNCTION billing.await_budgets(INOUT settlement billing.settlement, places int[], amount numeric)
LANGUAGE plpgsql IMMUTABLE AS $function$
BEGIN
  settlement.waits := billing.add_to(settlement.waits, places, amount);
  settlement.waiting := billing.add_to(settlement.waiting, places, amount);
END
$function$;

-- funded only ever falls here: that charged + allotted stays below it is for the constraints to judge.
CREATE OR REPLACE FUNCTION billing.write_budgets(settlement billing.settlement) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  accounts billing.settle_account[] := settlement.accounts;
  campaigns billing.settle_campaign[] := settlement.campaigns;
  days billing.settle_day[] := settlement.days;
  account_count int := cardinality(accounts);
  first_day int := cardinality(accounts) + cardinality(campaigns) + 1;
BEGIN
  UPDATE billing.campaign_day d SET allotted = d.allotted + k.allotted, charged = d.charged + k.charged,
    waiting = d.waiting + k.waits,
    funded = least(d.funded, greatest(d.requested, d.allotted + k.allotted + d.charged + k.charged))
  FROM unnest(days, settlement.allotted[first_day:], settlement.charged[first_day:], settlement.waits[first_day:])
    AS k (day, campaign, allotted, charged, waits)
  WHERE d.campaign = (campaigns[k.campaign]).campaign AND d.day = k.day
    -- A campaign may be named with an account that is not its own: that has no budget, and must not hide the real one.
    AND EXISTS (
      SELECT FROM billing.campaign c WHERE c.campaign = d.campaign
        AND c.advertiser = (accounts[(campaigns[k.campaign]).account]).advertiser
        AND c.currency = (accounts[(campaigns[k.campaign]).account]).currency);
  UPDATE billing.campaign c SET allotted = c.allotted + k.allotted, charged = c.charged + k.charged,
    waiting = c.waiting + k.waits,
    funded = least(c.funded, greatest(c.requested, c.allotted + k.allotted + c.charged + k.charged))
  FROM unnest(campaigns, settlement.allotted[account_count + 1:first_day - 1],
      settlement.charged[account_count + 1:first_day - 1], settlement.waits[account_count + 1:first_day - 1])
    AS k (campaign, account, allotted, charged, waits)
  WHERE c.campaign = k.campaign AND c.advertiser = (accounts[k.account]).advertiser
    AND c.currency = (accounts[k.account]).currency;
  UPDATE billing.account a SET allotted = a.allotted + k.allotted, charged = a.charged + k.charged,
    waiting = a.waiting + k.waits,
    funded = least(a.funded, greatest(a.requested, a.allotted + k.allotted + a.charged + k.charged)),
    version = k.version
  FROM unnest(accounts, settlement.allotted[:account_count], settlement.charged[:account_count],
      settlement.waits[:account_count], settlement.versions)
    AS k (advertiser, currency, allotted, charged, waits, version)
  WHERE a.advertiser = k.advertiser AND a.currency = k.currency;
END
$function$;
