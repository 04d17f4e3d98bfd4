-- Everything that a batch does to budgets: the only way in which shared rows change (besides funding), called last,
-- with COMMIT. It locks ascending (account, campaign, day), so nobody waits in a circle, and nobody waits for a client.
--
-- Accounts, campaigns and days are given once each; a campaign names its account, a day its campaign, and everything
-- else its day, by index from 1; draws lie in billing.draw, in their order. In this order: charges to allotments of the
-- partition's own; returns of allotments that close (state 2) or end (3); the partition's events that wait at these
-- days; draws of events that no allotment could pay, in the batch's order; grants, which it returns.
--
-- What budgets pay (B4): an event is charged whole or not at all. What finds too little free budget waits while
-- allotments that have not ended may still return enough, and what comes after it to the same day waits behind it; what
-- no return can pay any more is unfunded. What came after its allotment's end never waits: it is charged from what
-- nobody waits for, or free.
CREATE OR REPLACE FUNCTION billing.settle(
  p_partition int, p_batch_number bigint, p_now timestamptz,
  p_account_advertisers text[], p_account_currencies text[],
  p_campaigns text[], p_campaign_accounts int[],
  p_days int[], p_day_campaigns int[],
  p_charge_allotments bigint[], p_charge_amounts bigint[], p_charge_for_clicks bigint[], p_charge_reserves bigint[],
  p_return_allotments bigint[], p_return_states smallint[], p_return_used bigint[], p_return_used_for_clicks bigint[],
  p_return_times timestamptz[], p_return_days int[],
  p_draw_prices bigint[], p_draw_are_late boolean[], p_draw_days int[],
  p_ask_ordinals bigint[], p_ask_full_prices bigint[], p_ask_click_prices bigint[], p_ask_used bigint[],
  p_ask_ends timestamptz[], p_ask_click_rates text[], p_ask_days int[],
  p_posting_accounts text[], p_posting_currencies text[], p_posting_debits numeric[], p_posting_credits numeric[],
  p_topic text, p_next_sequence bigint, p_partition_count int, p_quiet_ms bigint, p_usual_ms bigint, p_scarce_ms bigint,
  p_scarce_clicks bigint, p_ready_maximum int
) RETURNS TABLE (
  id bigint, ordinal bigint, campaign text, budget_day int, amount bigint, serve_until timestamptz, click_rates text,
  granted_at timestamptz
) LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  -- Of each shared row: free budget (below 0 while more is charged or allotted than the catalogue now asks for), what
  -- would be free if every allotment returned everything, and what waits for it.
  account_free numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_account_advertisers)]);
  account_left numeric[] := account_free;
  account_waiting numeric[] := account_free;
  account_versions bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_account_advertisers)]);
  campaign_free numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_campaigns)]);
  campaign_left numeric[] := campaign_free;
  campaign_waiting numeric[] := campaign_free;
  day_free numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_days)]);
  day_left numeric[] := day_free;
  day_waiting numeric[] := day_free;
  -- What the batch adds to each day's row, and so to its campaign's and account's.
  day_allotted numeric[] := day_free;
  day_charged numeric[] := day_free;
  day_waits numeric[] := day_free;
  -- Whether something waits there, so that what follows waits as well.
  day_is_waited_for boolean[] := array_fill(false, ARRAY[cardinality(p_days)]);
  draw_fates smallint[] := array_fill(0::smallint, ARRAY[cardinality(p_draw_prices)]);
  draw_versions bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_draw_prices)]);
  ready_batches bigint[] := '{}';
  ready_positions int[] := '{}';
  ready_fates smallint[] := '{}';
  ready_versions bigint[] := '{}';
  locked record;
  waiter record;
  day_index int;
  campaign_index int;
  account_index int;
  before bigint;
  after bigint;
  price numeric;
  fate smallint;
  free numeric;
  wanted numeric;
  granted numeric;
  until timestamptz;
  sequence bigint := p_next_sequence;
  changed bigint;
BEGIN
  UPDATE billing.allotment a SET charged = a.charged + c.amount, clicks_charged = a.clicks_charged + c.for_clicks,
    click_reserve = a.click_reserve + c.reserve
  FROM unnest(p_charge_allotments, p_charge_amounts, p_charge_for_clicks, p_charge_reserves)
    AS c (id, amount, for_clicks, reserve)
  WHERE a.id = c.id AND a.partition = p_partition AND a.state < 3;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> cardinality(p_charge_allotments) THEN
    RAISE EXCEPTION '% allotments are to be charged, % can be', cardinality(p_charge_allotments), changed
      USING ERRCODE = 'HB002';
  END IF;

  FOR locked IN
    SELECT k.index, a.requested - a.charged - a.allotted AS free, a.requested - a.charged AS left, a.waiting, a.version
    FROM unnest(p_account_advertisers, p_account_currencies) WITH ORDINALITY AS k (advertiser, currency, index)
    JOIN billing.account a ON a.advertiser = k.advertiser AND a.currency = k.currency
    ORDER BY a.advertiser, a.currency FOR UPDATE OF a
  LOOP
    account_free[locked.index] := locked.free;
    account_left[locked.index] := locked.left;
    account_waiting[locked.index] := locked.waiting;
    account_versions[locked.index] := locked.version;
  END LOOP;
  FOR locked IN
    SELECT k.index, c.requested - c.charged - c.allotted AS free, c.requested - c.charged AS left, c.waiting
    FROM unnest(p_campaigns, p_campaign_accounts) WITH ORDINALITY AS k (campaign, account, index)
    JOIN billing.campaign c ON c.campaign = k.campaign AND c.advertiser = p_account_advertisers[k.account]
      AND c.currency = p_account_currencies[k.account]
    ORDER BY c.campaign FOR UPDATE OF c
  LOOP
    campaign_free[locked.index] := locked.free;
    campaign_left[locked.index] := locked.left;
    campaign_waiting[locked.index] := locked.waiting;
  END LOOP;
  INSERT INTO billing.campaign_day (campaign, day, requested, funded)
  SELECT c.campaign, k.day, coalesce(c.daily_budget, c.requested), coalesce(c.daily_budget, c.requested)
  FROM unnest(p_days, p_day_campaigns) AS k (day, campaign)
  JOIN billing.campaign c ON c.campaign = p_campaigns[k.campaign]
    AND c.advertiser = p_account_advertisers[p_campaign_accounts[k.campaign]]
    AND c.currency = p_account_currencies[p_campaign_accounts[k.campaign]]
  ON CONFLICT DO NOTHING;
  FOR locked IN
    SELECT k.index, d.requested - d.charged - d.allotted AS free, d.requested - d.charged AS left, d.waiting
    FROM unnest(p_days, p_day_campaigns) WITH ORDINALITY AS k (day, campaign, index)
    JOIN billing.campaign_day d ON d.campaign = p_campaigns[k.campaign] AND d.day = k.day
    ORDER BY d.campaign, d.day FOR UPDATE OF d
  LOOP
    day_free[locked.index] := locked.free;
    day_left[locked.index] := locked.left;
    day_waiting[locked.index] := locked.waiting;
  END LOOP;

  -- Returns: of a closed allotment what was not used, though never what is charged already; of an ended one what was not
  -- charged, and what was stays charged.
  FOR i IN 1..cardinality(p_return_allotments) LOOP
    day_index := p_return_days[i];
    campaign_index := p_day_campaigns[day_index];
    account_index := p_campaign_accounts[campaign_index];
    account_versions[account_index] := account_versions[account_index] + 1;
    SELECT a.amount, CASE p_return_states[i] WHEN 2 THEN least(a.amount, greatest(p_return_used[i], a.charged))
      ELSE a.charged END INTO before, after
    FROM billing.allotment a
    WHERE a.id = p_return_allotments[i] AND a.partition = p_partition AND a.state < p_return_states[i];
    IF NOT FOUND THEN
      RAISE EXCEPTION 'allotment % is closed or has ended before', p_return_allotments[i] USING ERRCODE = 'HB002';
    END IF;
    day_free[day_index] := day_free[day_index] + (before - after);
    campaign_free[campaign_index] := campaign_free[campaign_index] + (before - after);
    account_free[account_index] := account_free[account_index] + (before - after);
    IF p_return_states[i] = 2 THEN
      UPDATE billing.allotment a SET state = 2, amount = after, used = p_return_used[i],
        click_reserve = greatest(least(p_return_used_for_clicks[i], after), a.clicks_charged),
        closed_at = p_return_times[i], close_version = account_versions[account_index]
      WHERE a.id = p_return_allotments[i];
      day_allotted[day_index] := day_allotted[day_index] - (before - after);
    ELSE
      UPDATE billing.allotment a SET state = 3, amount = after, click_reserve = a.clicks_charged,
        ended_at = p_return_times[i], end_version = account_versions[account_index]
      WHERE a.id = p_return_allotments[i];
      day_allotted[day_index] := day_allotted[day_index] - before;
      day_charged[day_index] := day_charged[day_index] + after;
      day_left[day_index] := day_left[day_index] - after;
      campaign_left[campaign_index] := campaign_left[campaign_index] - after;
      account_left[account_index] := account_left[account_index] - after;
    END IF;
  END LOOP;

  -- What waits, day by day, each in the order in which it began to.
  FOR i IN 1..cardinality(p_days) LOOP
    campaign_index := p_day_campaigns[i];
    account_index := p_campaign_accounts[campaign_index];
    FOR waiter IN
      SELECT w.batch_number, w.position, w.price FROM billing.waiting w
      WHERE w.partition = p_partition AND w.campaign = p_campaigns[campaign_index] AND w.budget_day = p_days[i]
        AND w.advertiser = p_account_advertisers[account_index] AND w.currency = p_account_currencies[account_index]
      ORDER BY w.batch_number, w.position
    LOOP
      IF waiter.price <= least(account_free[account_index], campaign_free[campaign_index], day_free[i]) THEN
        fate := 1;
      ELSIF waiter.price > least(account_left[account_index], campaign_left[campaign_index], day_left[i]) THEN
        fate := 2;
      ELSE
        day_is_waited_for[i] := true;
      END IF;
      -- What is beyond one batch is looked at by the next.
      IF day_is_waited_for[i] OR cardinality(ready_fates) >= p_ready_maximum THEN
        day_is_waited_for[i] := true;
        EXIT;
      END IF;
      account_versions[account_index] := account_versions[account_index] + 1;
      ready_batches := ready_batches || waiter.batch_number;
      ready_positions := ready_positions || waiter.position;
      ready_fates := ready_fates || fate;
      ready_versions := ready_versions || account_versions[account_index];
      day_waits[i] := day_waits[i] - waiter.price;
      day_waiting[i] := day_waiting[i] - waiter.price;
      campaign_waiting[campaign_index] := campaign_waiting[campaign_index] - waiter.price;
      account_waiting[account_index] := account_waiting[account_index] - waiter.price;
      IF fate = 1 THEN
        day_charged[i] := day_charged[i] + waiter.price;
        day_free[i] := day_free[i] - waiter.price;
        day_left[i] := day_left[i] - waiter.price;
        campaign_free[campaign_index] := campaign_free[campaign_index] - waiter.price;
        campaign_left[campaign_index] := campaign_left[campaign_index] - waiter.price;
        account_free[account_index] := account_free[account_index] - waiter.price;
        account_left[account_index] := account_left[account_index] - waiter.price;
      END IF;
    END LOOP;
  END LOOP;

  -- Draws.
  FOR i IN 1..cardinality(p_draw_prices) LOOP
    day_index := p_draw_days[i];
    campaign_index := p_day_campaigns[day_index];
    account_index := p_campaign_accounts[campaign_index];
    account_versions[account_index] := account_versions[account_index] + 1;
    draw_versions[i] := account_versions[account_index];
    price := p_draw_prices[i];
    IF p_draw_are_late[i] THEN
      free := least(account_free[account_index] - account_waiting[account_index],
        campaign_free[campaign_index] - campaign_waiting[campaign_index], day_free[day_index] - day_waiting[day_index]);
      fate := CASE WHEN price <= free THEN 1 ELSE 3 END;
    ELSE
      free := least(account_free[account_index], campaign_free[campaign_index], day_free[day_index]);
      fate := CASE WHEN price <= free AND NOT day_is_waited_for[day_index] THEN 1
        WHEN price <= least(account_left[account_index], campaign_left[campaign_index], day_left[day_index]) THEN 4
        ELSE 2 END;
    END IF;
    draw_fates[i] := fate;
    IF fate = 1 THEN
      day_charged[day_index] := day_charged[day_index] + price;
      day_free[day_index] := day_free[day_index] - price;
      day_left[day_index] := day_left[day_index] - price;
      campaign_free[campaign_index] := campaign_free[campaign_index] - price;
      campaign_left[campaign_index] := campaign_left[campaign_index] - price;
      account_free[account_index] := account_free[account_index] - price;
      account_left[account_index] := account_left[account_index] - price;
    ELSIF fate = 4 THEN
      day_is_waited_for[day_index] := true;
      day_waits[day_index] := day_waits[day_index] + price;
      day_waiting[day_index] := day_waiting[day_index] + price;
      campaign_waiting[campaign_index] := campaign_waiting[campaign_index] + price;
      account_waiting[account_index] := account_waiting[account_index] + price;
    END IF;
  END LOOP;

  -- Grants: what the partition uses in a minute, at least one ad's full price; while there is plenty, more to start
  -- with, though for all partitions together never more than a twentieth of what is free and nobody waits for.
  FOR i IN 1..cardinality(p_ask_ordinals) LOOP
    day_index := p_ask_days[i];
    campaign_index := p_day_campaigns[day_index];
    account_index := p_campaign_accounts[campaign_index];
    free := least(account_free[account_index] - account_waiting[account_index],
      campaign_free[campaign_index] - campaign_waiting[campaign_index], day_free[day_index] - day_waiting[day_index]);
    wanted := greatest(p_ask_used[i], p_ask_full_prices[i]);
    granted := least(
      greatest(wanted, least(div(free, 20 * p_partition_count), 1000 * p_ask_full_prices[i]::numeric)),
      free, 9223372036854775807);
    until := least(
      p_ask_ends[i],
      p_now + interval '1 millisecond' * CASE WHEN wanted * p_partition_count * 20 < free THEN p_quiet_ms
        WHEN wanted * p_partition_count <= free THEN p_usual_ms ELSE p_scarce_ms END);
    CONTINUE WHEN free < p_ask_full_prices[i] OR p_ask_full_prices[i] <= 0 OR until <= p_now;
    CONTINUE WHEN EXISTS (
      SELECT FROM billing.allotment a WHERE a.partition = p_partition AND a.campaign = p_campaigns[campaign_index]
        AND a.budget_day = p_days[day_index] AND a.ordinal = p_ask_ordinals[i]);
    account_versions[account_index] := account_versions[account_index] + 1;
    day_allotted[day_index] := day_allotted[day_index] + granted;
    day_free[day_index] := day_free[day_index] - granted;
    campaign_free[campaign_index] := campaign_free[campaign_index] - granted;
    account_free[account_index] := account_free[account_index] - granted;
    RETURN QUERY INSERT INTO billing.allotment AS a (id, partition, ordinal, campaign, advertiser, currency, budget_day,
      granted, amount, click_rates, campaign_free, serve_until, batch_number, granted_at, grant_version)
    VALUES ((p_partition::bigint << 40) | sequence, p_partition, p_ask_ordinals[i], p_campaigns[campaign_index],
      p_account_advertisers[account_index], p_account_currencies[account_index], p_days[day_index], granted, granted,
      -- What is left pays for so few clicks that each ad sets aside the whole price of its own.
      CASE WHEN free - granted < p_ask_click_prices[i]::numeric * p_scarce_clicks THEN '1000000'
        ELSE p_ask_click_rates[i] END,
      least(free - granted, 9223372036854775807), until, p_batch_number, p_now, account_versions[account_index])
    RETURNING a.id, a.ordinal, a.campaign, a.budget_day, a.granted, a.serve_until, a.click_rates, a.granted_at;
    sequence := sequence + 1;
  END LOOP;

  -- The shared rows. funded only ever falls here: that charged + allotted stays below it is for the constraints to
  -- judge.
  UPDATE billing.campaign_day d SET allotted = d.allotted + k.allotted, charged = d.charged + k.charged,
    waiting = d.waiting + k.waits,
    funded = least(d.funded, greatest(d.requested, d.allotted + k.allotted + d.charged + k.charged))
  FROM unnest(p_days, p_day_campaigns, day_allotted, day_charged, day_waits)
    AS k (day, campaign, allotted, charged, waits)
  WHERE d.campaign = p_campaigns[k.campaign] AND d.day = k.day
    -- A campaign may be named with an account that is not its own: that has no budget, and must not hide the real one.
    AND EXISTS (
      SELECT FROM billing.campaign c WHERE c.campaign = d.campaign
        AND c.advertiser = p_account_advertisers[p_campaign_accounts[k.campaign]]
        AND c.currency = p_account_currencies[p_campaign_accounts[k.campaign]]);
  UPDATE billing.campaign c SET allotted = c.allotted + k.allotted, charged = c.charged + k.charged,
    waiting = c.waiting + k.waits,
    funded = least(c.funded, greatest(c.requested, c.allotted + k.allotted + c.charged + k.charged))
  FROM (
    SELECT d.campaign, sum(d.allotted) AS allotted, sum(d.charged) AS charged, sum(d.waits) AS waits
    FROM unnest(p_day_campaigns, day_allotted, day_charged, day_waits) AS d (campaign, allotted, charged, waits)
    GROUP BY d.campaign
  ) AS k
  WHERE c.campaign = p_campaigns[k.campaign] AND c.advertiser = p_account_advertisers[p_campaign_accounts[k.campaign]]
    AND c.currency = p_account_currencies[p_campaign_accounts[k.campaign]];
  UPDATE billing.account a SET allotted = a.allotted + k.allotted, charged = a.charged + k.charged,
    waiting = a.waiting + k.waits,
    funded = least(a.funded, greatest(a.requested, a.allotted + k.allotted + a.charged + k.charged)),
    version = account_versions[k.account]
  FROM (
    SELECT p_campaign_accounts[d.campaign] AS account, sum(d.allotted) AS allotted, sum(d.charged) AS charged,
      sum(d.waits) AS waits
    FROM unnest(p_day_campaigns, day_allotted, day_charged, day_waits) AS d (campaign, allotted, charged, waits)
    GROUP BY 1
  ) AS k
  WHERE a.advertiser = p_account_advertisers[k.account] AND a.currency = p_account_currencies[k.account];

  IF sequence > p_next_sequence THEN
    UPDATE billing.output o SET next_sequence = sequence WHERE o.partition = p_partition AND o.topic = p_topic;
    UPDATE billing.batch b SET next_sequences = ARRAY[sequence]
    WHERE b.partition = p_partition AND b.batch_number = p_batch_number;
  END IF;
  IF cardinality(p_draw_prices) + cardinality(ready_fates) + cardinality(p_posting_accounts) > 0 THEN
    PERFORM billing.write_journal(p_partition, p_batch_number, draw_fates, draw_versions, ready_batches,
      ready_positions, ready_fates, ready_versions, p_posting_accounts, p_posting_currencies, p_posting_debits,
      p_posting_credits);
  END IF;
END
$function$;
