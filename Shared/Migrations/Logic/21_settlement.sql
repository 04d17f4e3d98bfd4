-- What the steps of a settlement have in common.
--
-- Each step takes the arrays of the settlement into variables of its own before its loop: there an element is read and
-- changed in level, while a function that is given a whole settlement for each of its asks would copy it each time.

-- Each day with its campaign and account, by name.
CREATE OR REPLACE FUNCTION billing.settled_days(
  accounts billing.settle_account[], campaigns billing.settle_campaign[], days billing.settle_day[]
) RETURNS TABLE (index bigint, day int, campaign text, advertiser text, currency text)
LANGUAGE sql IMMUTABLE AS $function$
  SELECT d.index, d.day, c.campaign, a.advertiser, a.currency
  FROM unnest(days) WITH ORDINALITY AS d (day, campaign, index)
  JOIN unnest(campaigns) WITH ORDINALITY AS c (campaign, account, index) ON c.index = d.campaign
  JOIN unnest(accounts) WITH ORDINALITY AS a (advertiser, currency, index) ON a.index = c.account
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
