-- What the steps of a settlement have in common.
--
-- Each step takes the arrays of the settlement into variables of its own before its loop: there an element is read and
-- changed in level, while a function that is given a whole settlement for each of its asks would copy it each time.

-- Each campaign with its account, by name.
CREATE OR REPLACE FUNCTION billing.settled_campaigns(accounts billing.settle_account[], campaigns billing.settle_campaign[])
RETURNS TABLE (index bigint, campaign text, advertiser text, currency text) LANGUAGE sql IMMUTABLE AS $function$
  SELECT c.index, c.campaign, a.advertiser, a.currency
  FROM unnest(campaigns) WITH ORDINALITY AS c (campaign, account, index)
  JOIN unnest(accounts) WITH ORDINALITY AS a (advertiser, currency, index) ON a.index = c.account
$function$;

-- Each day with its campaign and account, by name.
CREATE OR REPLACE FUNCTION billing.settled_days(
  accounts billing.settle_account[], campaigns billing.settle_campaign[], days billing.settle_day[]
) RETURNS TABLE (index bigint, day int, campaign text, advertiser text, currency text)
LANGUAGE sql IMMUTABLE AS $function$
  SELECT d.index, d.day, c.campaign, c.advertiser, c.currency
  FROM unnest(days) WITH ORDINALITY AS d (day, campaign, index)
  JOIN billing.settled_campaigns(accounts, campaigns) AS c ON c.index = d.campaign
$function$;

-- Each draw with its fate and the names of its day.
CREATE OR REPLACE FUNCTION billing.fated_draws(settlement billing.settlement, draws billing.settle_draw[]) RETURNS TABLE (
  index bigint, price bigint, serve_id uuid, event_time timestamptz, id_hash bigint, terms bigint, allotment bigint,
  kind smallint, device smallint, size smallint, country text, placement text, fate smallint, version bigint,
  budget_day int, campaign text, advertiser text, currency text
) LANGUAGE sql IMMUTABLE AS $function$
  SELECT d.index, d.price, d.serve_id, d.event_time, d.id_hash, d.terms, d.allotment, d.kind, d.device, d.size, d.country,
    d.placement, d.fate, d.version, n.day, n.campaign, n.advertiser, n.currency
  FROM unnest(draws, settlement.fates) WITH ORDINALITY AS d (price, is_late, day, serve_id, event_time, id_hash, terms,
    allotment, kind, device, size, country, placement, fate, version, index)
  JOIN billing.settled_days(settlement.accounts, settlement.campaigns, settlement.days) AS n ON n.index = d.day
$function$;

-- A settlement of which nothing is read or decided yet: which rows count for each of its days, and no amounts.
CREATE OR REPLACE FUNCTION billing.new_settlement(
  accounts billing.settle_account[], campaigns billing.settle_campaign[], days billing.settle_day[]
) RETURNS billing.settlement LANGUAGE plpgsql IMMUTABLE AS $function$
DECLARE
  account_count int := cardinality(accounts);
  campaign_count int := cardinality(campaigns);
  nothing numeric[] := array_fill(0::numeric, ARRAY[account_count + campaign_count + cardinality(days)]);
  settlement billing.settlement;
BEGIN
  settlement.accounts := accounts;
  settlement.campaigns := campaigns;
  settlement.days := days;
  SELECT coalesce(array_agg(
    ROW(c.account, account_count + d.campaign, account_count + campaign_count + d.index)::billing.settlement_level
    ORDER BY d.index), '{}')
  INTO settlement.levels
  FROM unnest(days) WITH ORDINALITY AS d (day, campaign, index)
  JOIN unnest(campaigns) WITH ORDINALITY AS c (campaign, account, index) ON c.index = d.campaign;
  settlement.free := nothing;
  settlement.remaining := nothing;
  settlement.waiting := nothing;
  settlement.allotted := nothing;
  settlement.charged := nothing;
  settlement.waits := nothing;
  settlement.versions := array_fill(0::bigint, ARRAY[account_count]);
  settlement.is_waited_for := array_fill(false, ARRAY[cardinality(days)]);
  settlement.fates := '{}';
  settlement.ready := '{}';
  settlement.next_sequence := 0;
  RETURN settlement;
END
$function$;

-- The least of some amounts: a budget can pay no more than each of its rows.
CREATE OR REPLACE FUNCTION billing.least_of(amounts numeric[], level billing.settlement_level) RETURNS numeric
LANGUAGE sql IMMUTABLE AS $function$
  SELECT least(amounts[level.account], amounts[level.campaign], amounts[level.day])
$function$;

-- What is free and nobody waits for.
CREATE OR REPLACE FUNCTION billing.unclaimed(free numeric[], waiting numeric[], level billing.settlement_level)
RETURNS numeric LANGUAGE sql IMMUTABLE AS $function$
  SELECT least(free[level.account] - waiting[level.account], free[level.campaign] - waiting[level.campaign],
    free[level.day] - waiting[level.day])
$function$;

-- What becomes of an event that draws on free budget (B4): charged when there is enough and nobody before it waits, unfunded
-- when no return can pay it any more, else waiting.
CREATE OR REPLACE FUNCTION billing.draw_fate(
  price bigint, free numeric[], remaining numeric[], level billing.settlement_level, is_waited_for boolean
) RETURNS smallint LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN price <= billing.least_of(free, level) AND NOT is_waited_for THEN vocabulary.charge_fate('charged')
    WHEN price <= billing.least_of(remaining, level) THEN vocabulary.charge_fate('waiting')
    ELSE vocabulary.charge_fate('unfunded') END
$function$;
