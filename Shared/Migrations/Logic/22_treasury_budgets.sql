-- The treasury's part of a settlement: the rows that partitions share, locked and read at its beginning, and written at its
-- end. What a partition does with them meanwhile it counts in the settlement.

-- A campaign's day has a row from when it is first asked for: its budget is the daily one, or else the whole campaign's.
CREATE OR REPLACE FUNCTION treasury.add_days(
  accounts billing.settle_account[], campaigns billing.settle_campaign[], days billing.settle_day[]
) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  INSERT INTO treasury.campaign_day (campaign, day, requested, funded)
  SELECT c.campaign, k.day, coalesce(c.daily_budget, c.requested), coalesce(c.daily_budget, c.requested)
  FROM billing.settled_days(accounts, campaigns, days) AS k
  JOIN treasury.campaign c ON c.campaign = k.campaign AND c.advertiser = k.advertiser AND c.currency = k.currency
  ON CONFLICT DO NOTHING;
END
$function$;

-- A settlement that has read what its rows hold. Locks ascending (account, campaign, day), so that nobody waits in a circle.
CREATE OR REPLACE FUNCTION treasury.lock_budgets(
  accounts billing.settle_account[], campaigns billing.settle_campaign[], days billing.settle_day[]
) RETURNS billing.settlement LANGUAGE plpgsql AS $function$
DECLARE
  account_count int := cardinality(accounts);
  campaign_count int := cardinality(campaigns);
  settlement billing.settlement := billing.new_settlement(accounts, campaigns, days);
  free numeric[] := settlement.free;
  remaining numeric[] := settlement.remaining;
  waiting numeric[] := settlement.waiting;
  versions bigint[] := settlement.versions;
  locked record;
BEGIN
  FOR locked IN
    SELECT k.row, a.requested - a.charged - a.allotted AS free, a.requested - a.charged AS remaining, a.waiting,
      a.version
    FROM unnest(accounts) WITH ORDINALITY AS k (advertiser, currency, row)
    JOIN treasury.account a ON a.advertiser = k.advertiser AND a.currency = k.currency
    ORDER BY a.advertiser, a.currency FOR UPDATE OF a
  LOOP
    free[locked.row] := locked.free;
    remaining[locked.row] := locked.remaining;
    waiting[locked.row] := locked.waiting;
    versions[locked.row] := locked.version;
  END LOOP;
  FOR locked IN
    SELECT account_count + k.index AS row, c.requested - c.charged - c.allotted AS free,
      c.requested - c.charged AS remaining, c.waiting
    FROM billing.settled_campaigns(accounts, campaigns) AS k
    JOIN treasury.campaign c ON c.campaign = k.campaign AND c.advertiser = k.advertiser AND c.currency = k.currency
    ORDER BY c.campaign FOR UPDATE OF c
  LOOP
    free[locked.row] := locked.free;
    remaining[locked.row] := locked.remaining;
    waiting[locked.row] := locked.waiting;
  END LOOP;
  PERFORM treasury.add_days(accounts, campaigns, days);
  FOR locked IN
    SELECT account_count + campaign_count + k.index AS row, d.requested - d.charged - d.allotted AS free,
      d.requested - d.charged AS remaining, d.waiting
    FROM billing.settled_days(accounts, campaigns, days) AS k
    JOIN treasury.campaign_day d ON d.campaign = k.campaign AND d.day = k.day
    ORDER BY d.campaign, d.day FOR UPDATE OF d
  LOOP
    free[locked.row] := locked.free;
    remaining[locked.row] := locked.remaining;
    waiting[locked.row] := locked.waiting;
  END LOOP;
  settlement.free := free;
  settlement.remaining := remaining;
  settlement.waiting := waiting;
  settlement.versions := versions;
  RETURN settlement;
END
$function$;

-- A row that nothing changes is not written: an ask that is refused costs no more than a look.
-- funded only ever falls here: that charged + allotted stays below it is for the constraints to judge.
CREATE OR REPLACE FUNCTION treasury.write_budgets(settlement billing.settlement) RETURNS void
LANGUAGE plpgsql AS $function$
DECLARE
  account_count int := cardinality(settlement.accounts);
  first_day int := cardinality(settlement.accounts) + cardinality(settlement.campaigns) + 1;
BEGIN
  UPDATE treasury.campaign_day d SET allotted = d.allotted + k.allotted, charged = d.charged + k.charged,
    waiting = d.waiting + k.waits,
    funded = least(d.funded, greatest(d.requested, d.allotted + k.allotted + d.charged + k.charged))
  FROM unnest(settlement.allotted[first_day:], settlement.charged[first_day:], settlement.waits[first_day:])
    WITH ORDINALITY AS k (allotted, charged, waits, index)
  JOIN billing.settled_days(settlement.accounts, settlement.campaigns, settlement.days) AS n ON n.index = k.index
  -- A campaign may be named with an account that is not its own: that has no budget, and must not hide the real one.
  JOIN treasury.campaign c ON c.campaign = n.campaign AND c.advertiser = n.advertiser AND c.currency = n.currency
  WHERE d.campaign = n.campaign AND d.day = n.day
    AND ((k.allotted, k.charged, k.waits) <> (0, 0, 0) OR d.funded > greatest(d.requested, d.allotted + d.charged));
  UPDATE treasury.campaign c SET allotted = c.allotted + k.allotted, charged = c.charged + k.charged,
    waiting = c.waiting + k.waits,
    funded = least(c.funded, greatest(c.requested, c.allotted + k.allotted + c.charged + k.charged))
  FROM unnest(settlement.campaigns, settlement.allotted[account_count + 1:first_day - 1],
      settlement.charged[account_count + 1:first_day - 1], settlement.waits[account_count + 1:first_day - 1])
    AS k (campaign, account, allotted, charged, waits)
  JOIN unnest(settlement.accounts) WITH ORDINALITY AS a (advertiser, currency, index) ON a.index = k.account
  WHERE c.campaign = k.campaign AND c.advertiser = a.advertiser AND c.currency = a.currency
    AND ((k.allotted, k.charged, k.waits) <> (0, 0, 0) OR c.funded > greatest(c.requested, c.allotted + c.charged));
  UPDATE treasury.account a SET allotted = a.allotted + k.allotted, charged = a.charged + k.charged,
    waiting = a.waiting + k.waits,
    funded = least(a.funded, greatest(a.requested, a.allotted + k.allotted + a.charged + k.charged)),
    version = k.version
  FROM unnest(settlement.accounts, settlement.allotted[:account_count], settlement.charged[:account_count],
      settlement.waits[:account_count], settlement.versions)
    AS k (advertiser, currency, allotted, charged, waits, version)
  WHERE a.advertiser = k.advertiser AND a.currency = k.currency
    AND ((k.allotted, k.charged, k.waits) <> (0, 0, 0) OR k.version <> a.version
      OR a.funded > greatest(a.requested, a.allotted + a.charged));
END
$function$;
