-- Money that a budget can still pay is not lost (B4). What an allotment sets aside for clicks follows the click rates
-- that were seen and is kept apart from what it sets aside for impressions; a click may be paid from what any allotment
-- of its partition, campaign and day has set aside for clicks; and an event that no budget can pay now waits, in its
-- order, while allotments that have not ended may still return some.

-- The day, in UTC, that an id of version 7 was made on: of a serve id, the day of the decision.
CREATE FUNCTION public.day_of(id uuid) RETURNS date LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT date '1970-01-01'
    + (('x' || substr(replace(id::text, '-', ''), 1, 12))::bit(48)::bigint / 86400000)::int
$function$;

-- How often ads were seen and clicked, as far as it is remembered: of each ad, of its campaign (ad empty), of the network
-- (both empty). Both counts are halved now and then, so that a rate follows what changes.
CREATE TABLE billing.click_count (
  partition int NOT NULL,
  campaign text COLLATE "C" NOT NULL,
  ad text COLLATE "C" NOT NULL,
  impressions bigint NOT NULL CHECK (impressions >= 0),
  clicks bigint NOT NULL CHECK (clicks >= 0),
  PRIMARY KEY (partition, campaign, ad)
) WITH (fillfactor = 50);

-- click_rates: what each ad sold sets aside for its click, in parts per million of the click's price: first of all ads,
-- then of those that have a bound of their own, as in 43590,summer-1=120000.
ALTER TABLE ad_selection.allotment
  DROP COLUMN campaign_free,
  ADD COLUMN click_rates text NOT NULL DEFAULT '1000000',
  -- The clicks' part of used.
  ADD COLUMN used_for_clicks bigint NOT NULL DEFAULT 0,
  ADD CONSTRAINT allotment_used_for_clicks CHECK (used_for_clicks >= 0 AND used_for_clicks <= used);
ALTER TABLE ad_selection.allotment ALTER COLUMN click_rates DROP DEFAULT;

ALTER TABLE billing.allotment
  ADD COLUMN click_rates text NOT NULL DEFAULT '1000000',
  -- What is set aside for clicks: while it is open, of the ads seen so far; once closed, of all that were sold.
  ADD COLUMN click_reserve bigint NOT NULL DEFAULT 0,
  -- The clicks' part of charged.
  ADD COLUMN clicks_charged bigint NOT NULL DEFAULT 0 CHECK (clicks_charged >= 0),
  ADD CONSTRAINT allotment_click_reserve CHECK (clicks_charged <= click_reserve AND click_reserve <= amount),
  ADD CONSTRAINT allotment_clicks CHECK (clicks_charged <= charged);
ALTER TABLE billing.allotment ALTER COLUMN click_rates DROP DEFAULT;

-- The prices of what waits: grants leave so much of the free budget alone.
ALTER TABLE billing.account ADD COLUMN waiting numeric(38,0) NOT NULL DEFAULT 0 CHECK (waiting >= 0);
ALTER TABLE billing.campaign ADD COLUMN waiting numeric(38,0) NOT NULL DEFAULT 0 CHECK (waiting >= 0);
ALTER TABLE billing.campaign_day ADD COLUMN waiting numeric(38,0) NOT NULL DEFAULT 0 CHECK (waiting >= 0);

-- Accepted events that wait for budget, with fate 4. Each is charged, or unfunded, at the latest when the last allotment
-- that could return some has ended. batch_number and position are the order in which they began to wait.
CREATE TABLE billing.waiting (
  LIKE billing.charge,
  position int NOT NULL,
  PRIMARY KEY (partition, batch_number, position)
);
CREATE INDEX waiting_serve ON billing.waiting (serve_id);
CREATE INDEX waiting_place ON billing.waiting (partition, campaign, budget_day, batch_number, position);

COMMENT ON COLUMN billing.charge.fate IS
  '1 charged, 2 unfunded, 3 free because late, 4 waiting (only in billing.waiting); 16 and the click''s verdict: free, '
  '18 repeat, 19 accidental, 20 too early, 21 too late, 22 limited, 23 no impression, 24 impossible';
COMMENT ON COLUMN billing.charge.allotment IS
  'The allotment that paid; where none did, the one that the ad was sold from.';

DROP FUNCTION billing.settle;
DROP FUNCTION billing.write_journal;

-- Writes the rows of a batch's draws with their fates, and of those that waited and wait no more, what they add to the
-- minutes, and the batch's one journal: what the caller decided by itself (p_posting_...) and what the draws come to.
CREATE FUNCTION billing.write_journal(
  p_partition int, p_batch_number bigint, p_draw_fates smallint[], p_draw_versions bigint[],
  p_ready_batches bigint[], p_ready_positions int[], p_ready_fates smallint[], p_ready_versions bigint[],
  p_posting_accounts text[], p_posting_currencies text[], p_posting_debits numeric[], p_posting_credits numeric[]
) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  drawn_count bigint;
  ready_count bigint;
BEGIN
  WITH drawn AS (
    DELETE FROM billing.draw WHERE partition = p_partition AND batch_number = p_batch_number RETURNING *
  ), ready AS (
    DELETE FROM billing.waiting w
    USING unnest(p_ready_batches, p_ready_positions, p_ready_fates, p_ready_versions) AS r (batch, position, fate, version)
    WHERE w.partition = p_partition AND w.batch_number = r.batch AND w.position = r.position
    RETURNING w.*, r.fate AS new_fate, r.version AS new_version
  ), waits AS (
    INSERT INTO billing.waiting (serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, fate,
      price, amount, developer_amount, network_amount, allotment, budget_day, share_basis_points, app, developer,
      advertiser, campaign, ad, placement, country, device, size, currency, position)
    SELECT serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, 4, price, 0,
      developer_amount, 0, allotment, budget_day, share_basis_points, app, developer, advertiser, campaign, ad,
      placement, country, device, size, currency, position
    FROM drawn WHERE p_draw_fates[position] = 4
  ), settled AS (
    INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, fate,
      price, amount, developer_amount, network_amount, allotment, budget_day, draw_version, share_basis_points, app,
      developer, advertiser, campaign, ad, placement, country, device, size, currency)
    SELECT d.serve_id, d.kind, d.id_hash, p_partition, p_batch_number, d.sequence, d.event_time, d.arrival, d.new_fate,
      d.price, CASE WHEN d.new_fate = 1 THEN d.price ELSE 0 END,
      CASE WHEN d.new_fate IN (1, 2) THEN d.developer_amount ELSE 0 END,
      CASE d.new_fate WHEN 1 THEN d.price - d.developer_amount WHEN 2 THEN -d.developer_amount ELSE 0 END,
      d.allotment, d.budget_day, d.new_version, d.share_basis_points, d.app, d.developer, d.advertiser, d.campaign,
      d.ad, d.placement, d.country, d.device, d.size, d.currency
    FROM (
      SELECT *, p_draw_fates[position] AS new_fate, p_draw_versions[position] AS new_version FROM drawn
      WHERE p_draw_fates[position] <> 4
      UNION ALL SELECT * FROM ready
    ) AS d
    RETURNING *
  ), counted AS (
    INSERT INTO billing.minute_revenue AS m (partition, minute, kind, fate, app, developer, advertiser, campaign, ad,
      placement, country, device, size, currency, events, gross, developer_amount, network_amount)
    SELECT p_partition, date_trunc('minute', event_time, 'UTC'), kind, fate, app, developer, advertiser, campaign, ad,
      placement, country, device, size, currency, count(*), sum(amount), sum(developer_amount), sum(network_amount)
    FROM settled GROUP BY 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
    ON CONFLICT (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement, country, device,
      size, currency)
    DO UPDATE SET events = m.events + excluded.events, gross = m.gross + excluded.gross,
      developer_amount = m.developer_amount + excluded.developer_amount,
      network_amount = m.network_amount + excluded.network_amount
  ), entries AS (
    SELECT account, currency, sum(debit) AS debit, sum(credit) AS credit FROM (
      SELECT e.account, s.currency, e.debit::numeric, e.credit::numeric FROM settled s CROSS JOIN LATERAL (VALUES
        ('advertiser:' || s.advertiser, s.amount, 0::bigint),
        ('developer:' || s.developer, 0, s.developer_amount),
        ('network:revenue', 0, greatest(s.network_amount, 0)),
        ('network:unfunded', greatest(-s.network_amount, 0), 0)) AS e (account, debit, credit)
      UNION ALL
      SELECT * FROM unnest(p_posting_accounts, p_posting_currencies, p_posting_debits, p_posting_credits)
    ) AS e (account, currency, debit, credit) GROUP BY account, currency HAVING sum(debit) + sum(credit) > 0
  ), posted AS (
    INSERT INTO billing.posting (partition, batch_number, account, currency, debit, credit)
    SELECT p_partition, p_batch_number, account, currency, debit, credit FROM entries
  ), balanced AS (
    INSERT INTO billing.balance AS b (partition, account, currency, debit, credit)
    SELECT p_partition, account, currency, debit, credit FROM entries
    ON CONFLICT (partition, account, currency)
    DO UPDATE SET debit = b.debit + excluded.debit, credit = b.credit + excluded.credit
  )
  SELECT (SELECT count(*) FROM drawn), (SELECT count(*) FROM ready) INTO drawn_count, ready_count;
  IF drawn_count <> cardinality(p_draw_fates) OR ready_count <> cardinality(p_ready_fates) THEN
    RAISE EXCEPTION '% draws and % that waited are to be settled, % and % are there', cardinality(p_draw_fates),
      cardinality(p_ready_fates), drawn_count, ready_count USING ERRCODE = 'HB002';
  END IF;
  -- What waits will be a charge: an event that no day's table would take is refused now, alone, and not then.
  IF EXISTS (
    SELECT FROM billing.waiting WHERE partition = p_partition AND batch_number = p_batch_number
      AND to_regclass('billing.charge_' || to_char(public.day_of(serve_id), 'YYYYMMDD')) IS NULL
  ) THEN
    RAISE EXCEPTION 'there is no table for the day of a charge that waits' USING ERRCODE = '23514';
  END IF;
END
$function$;

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
CREATE FUNCTION billing.settle(
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

DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    GRANT SELECT ON billing.waiting, billing.click_count TO handbill_console;
  END IF;
END
$do$;
