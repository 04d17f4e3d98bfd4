-- How much a grant is: what the partition uses in a minute (`wanted`), at least one ad's full price; while there is plenty, more
-- to start with, though for all partitions together never more than a twentieth of what is free and nobody waits for.
CREATE OR REPLACE FUNCTION billing.grant_amount(
  wanted numeric, full_price bigint, unclaimed numeric, limits billing.settle_limits
) RETURNS numeric LANGUAGE sql IMMUTABLE AS $function$
  SELECT least(
    greatest(wanted, least(div(unclaimed, 20 * limits.partition_count), 1000 * full_price::numeric)),
    unclaimed, 9223372036854775807)
$function$;

-- How long it may be used: the less there is for all partitions, the sooner it returns what is not.
CREATE OR REPLACE FUNCTION billing.grant_life(wanted numeric, unclaimed numeric, limits billing.settle_limits)
RETURNS interval LANGUAGE sql IMMUTABLE AS $function$
  SELECT interval '1 millisecond' * CASE
    WHEN wanted * limits.partition_count * 20 < unclaimed THEN limits.quiet_ms
    WHEN wanted * limits.partition_count <= unclaimed THEN limits.usual_ms ELSE limits.scarce_ms END
$function$;

-- An allotment's id is the partition and the grant's sequence.
CREATE OR REPLACE FUNCTION billing.allotment_id(partition int, sequence bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $function$
  SELECT (partition::bigint << 40) | sequence
$function$;

-- Grants, in the order in which the partition asks.
CREATE OR REPLACE FUNCTION billing.grant_allotments(
  INOUT settlement billing.settlement, batch billing.settle_batch, asks billing.settle_ask[],
  limits billing.settle_limits
) LANGUAGE plpgsql AS $function$
DECLARE
  free numeric[] := settlement.free;
  allotted numeric[] := settlement.allotted;
  versions bigint[] := settlement.versions;
  levels billing.settlement_level[] := settlement.levels;
  accounts billing.settle_account[] := settlement.accounts;
  campaigns billing.settle_campaign[] := settlement.campaigns;
  days billing.settle_day[] := settlement.days;
  ask billing.settle_ask;
  day billing.settle_day;
  campaign_name text;
  level billing.settlement_level;
  entry int;
  unclaimed numeric;
  wanted numeric;
  granted_amount numeric;
  until timestamptz;
BEGIN
  FOREACH ask IN ARRAY asks LOOP
    level := levels[ask.day];
    day := days[ask.day];
    campaign_name := (campaigns[day.campaign]).campaign;
    unclaimed := billing.unclaimed(free, settlement.waiting, level);
    wanted := greatest(ask.used, ask.full_price);
    granted_amount := billing.grant_amount(wanted, ask.full_price, unclaimed, limits);
    until := least(ask.ends_at, batch.decided_at + billing.grant_life(wanted, unclaimed, limits));
    CONTINUE WHEN unclaimed < ask.full_price OR ask.full_price <= 0 OR until <= batch.decided_at;
    -- Each ordinal is granted once, so that asking again is harmless.
    CONTINUE WHEN EXISTS (
      SELECT FROM billing.allotment a WHERE a.partition = batch.partition AND a.campaign = campaign_name
        AND a.budget_day = day.day AND a.ordinal = ask.ordinal);
    versions[level.account] := versions[level.account] + 1;
    FOREACH entry IN ARRAY ARRAY[level.account, level.campaign, level.day] LOOP
      allotted[entry] := allotted[entry] + granted_amount;
      free[entry] := free[entry] - granted_amount;
    END LOOP;
    INSERT INTO billing.allotment (id, partition, ordinal, campaign, advertiser, currency, budget_day, granted, amount,
      click_rates, campaign_free, serve_until, batch_number, granted_at, grant_version)
    VALUES (billing.allotment_id(batch.partition, settlement.next_sequence), batch.partition, ask.ordinal, campaign_name,
      (accounts[level.account]).advertiser, (accounts[level.account]).currency, day.day, granted_amount, granted_amount,
      -- What is left pays for so few clicks that each ad sets aside the whole price of its own.
      CASE WHEN unclaimed - granted_amount < ask.click_price::numeric * limits.scarce_clicks THEN '1000000'
        ELSE ask.click_rates END,
      least(unclaimed - granted_amount, 9223372036854775807), until, batch.batch_number, batch.decided_at,
      versions[level.account]);
    settlement.next_sequence := settlement.next_sequence + 1;
  END LOOP;
  settlement.free := free;
  settlement.allotted := allotted;
  settlement.versions := versions;
END
$function$;
