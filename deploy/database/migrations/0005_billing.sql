-- Billing: budgets and the allotments cut from them, each event's fate, the ledger, and revenue per minute. Amounts are
-- nanos, 10^-9 of the currency's unit: one event's are bigint, sums numeric(38,0). Test traffic has no place here (I8).

-- Budgets -------------------------------------------------------------------------------------------------------------

-- The shared rows: the only ones that several partitions change, and only by billing.settle and the two functions that
-- fund them. requested: what the catalogue says. funded: the same, but never less than what is charged or allotted
-- already. allotted: the amounts of allotments that have not ended. charged: ended allotments and direct draws (I5).
CREATE TABLE billing.account (
  advertiser text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  requested numeric(38,0) NOT NULL DEFAULT 0 CHECK (requested >= 0),
  funded numeric(38,0) NOT NULL DEFAULT 0,
  allotted numeric(38,0) NOT NULL DEFAULT 0 CHECK (allotted >= 0),
  charged numeric(38,0) NOT NULL DEFAULT 0 CHECK (charged >= 0),
  -- The version of the catalogue's record that requested came from.
  record_version bigint NOT NULL DEFAULT 0,
  -- Counts, under this row's lock, every decision about the account and all of its campaigns and days. Everybody locks
  -- the account first, so this is the order in which a rebuild repeats them.
  version bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (advertiser, currency),
  CONSTRAINT account_budget_holds CHECK (charged + allotted <= funded)
) WITH (fillfactor = 20);

CREATE TABLE billing.campaign (
  campaign text COLLATE "C" PRIMARY KEY,
  advertiser text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  -- What each budget day may be charged; null: as much as the campaign.
  daily_budget numeric(38,0) CHECK (daily_budget >= 0),
  requested numeric(38,0) NOT NULL DEFAULT 0 CHECK (requested >= 0),
  funded numeric(38,0) NOT NULL DEFAULT 0,
  allotted numeric(38,0) NOT NULL DEFAULT 0 CHECK (allotted >= 0),
  charged numeric(38,0) NOT NULL DEFAULT 0 CHECK (charged >= 0),
  record_version bigint NOT NULL DEFAULT 0,
  CONSTRAINT campaign_budget_holds CHECK (charged + allotted <= funded)
) WITH (fillfactor = 20);

-- Kept for every campaign, so that a daily budget that is set in the middle of a day counts what the day has cost.
CREATE TABLE billing.campaign_day (
  campaign text COLLATE "C" NOT NULL,
  -- Days since 1970-01-01 in the advertiser's time zone.
  day int NOT NULL,
  requested numeric(38,0) NOT NULL DEFAULT 0 CHECK (requested >= 0),
  funded numeric(38,0) NOT NULL DEFAULT 0,
  allotted numeric(38,0) NOT NULL DEFAULT 0 CHECK (allotted >= 0),
  charged numeric(38,0) NOT NULL DEFAULT 0 CHECK (charged >= 0),
  PRIMARY KEY (campaign, day),
  CONSTRAINT day_budget_holds CHECK (charged + allotted <= funded)
) WITH (fillfactor = 20);

-- Every change of what the catalogue asks for, with the account's version that it was.
CREATE TABLE billing.funding (
  advertiser text NOT NULL,
  currency text NOT NULL,
  -- Empty for the account itself.
  campaign text NOT NULL,
  record_version bigint NOT NULL,
  requested numeric(38,0) NOT NULL,
  daily_budget numeric(38,0),
  account_version bigint NOT NULL,
  funded_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (advertiser, currency, account_version)
);

-- Pieces of budget that one partition may use. The id is the partition and the grant's sequence on ads.budgets.
CREATE TABLE billing.allotment (
  id bigint PRIMARY KEY,
  partition int NOT NULL,
  ordinal bigint NOT NULL,
  campaign text COLLATE "C" NOT NULL,
  advertiser text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  budget_day int NOT NULL,
  -- What was granted, and what is still set aside: less once it is closed, what was charged once it has ended.
  granted bigint NOT NULL CHECK (granted > 0),
  amount bigint NOT NULL,
  charged bigint NOT NULL DEFAULT 0 CHECK (charged >= 0),
  -- What ad selection reported; null until closed.
  used bigint,
  -- Free budget that was left when it was granted.
  campaign_free bigint NOT NULL,
  serve_until timestamptz NOT NULL,
  -- 1 open, 2 closed: sold from no more, 3 ended: charged no more
  state smallint NOT NULL DEFAULT 1 CHECK (state IN (1, 2, 3)),
  batch_number bigint NOT NULL,
  granted_at timestamptz NOT NULL,
  closed_at timestamptz,
  ended_at timestamptz,
  -- The account's version at each step.
  grant_version bigint NOT NULL,
  close_version bigint,
  end_version bigint,
  -- Each ordinal is granted once, so that asking again is harmless.
  UNIQUE (partition, campaign, budget_day, ordinal),
  CONSTRAINT allotment_holds CHECK (charged <= amount AND amount <= granted)
) WITH (fillfactor = 50);
CREATE INDEX allotment_not_ended ON billing.allotment (partition) WHERE state < 3;

-- Fates ---------------------------------------------------------------------------------------------------------------

-- One row for each accepted live event: what became of it (B5, I3), for ever.
CREATE TABLE billing.charge (
  serve_id uuid NOT NULL,
  -- 1 impression, 2 click
  kind smallint NOT NULL CHECK (kind IN (1, 2)),
  -- Which click of the serve; 0 for the impression.
  id_hash bigint NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  sequence bigint NOT NULL,
  event_time timestamptz NOT NULL,
  arrival timestamptz NOT NULL,
  -- 1 charged, 2 unfunded, 3 free because late; 16 and up: free by the click's verdict, 18 repeat, 19 accidental,
  -- 20 too early, 21 too late, 22 limited, 23 no impression
  fate smallint NOT NULL CHECK (fate > 0),
  -- What the token says this event costs.
  price bigint NOT NULL CHECK (price >= 0),
  -- What the advertiser pays, and how it is split (B2); an unfunded event costs the network what the developer gets.
  amount bigint NOT NULL CHECK (amount >= 0 AND amount <= price),
  developer_amount bigint NOT NULL CHECK (developer_amount >= 0),
  network_amount bigint NOT NULL,
  allotment bigint NOT NULL,
  budget_day int NOT NULL,
  -- The account's version, where free budget was drawn on.
  draw_version bigint,
  share_basis_points int NOT NULL,
  app text NOT NULL,
  developer text NOT NULL,
  advertiser text NOT NULL,
  campaign text NOT NULL,
  ad text NOT NULL,
  placement text NOT NULL,
  country text NOT NULL,
  device smallint NOT NULL,
  size smallint NOT NULL,
  currency text NOT NULL,
  PRIMARY KEY (serve_id, kind, id_hash),
  CONSTRAINT parts_add_up CHECK (amount = developer_amount + network_amount)
) PARTITION BY RANGE (serve_id);
CREATE INDEX charge_batch ON billing.charge USING brin (batch_number) WITH (pages_per_range = 32);

-- Events that draw on free budget, between their COPY and their fate in the same transaction: empty for everybody else,
-- and no loss after a crash. developer_amount is what the developer gets if the event is charged or unfunded.
CREATE UNLOGGED TABLE billing.draw (
  LIKE billing.charge,
  position int NOT NULL,
  PRIMARY KEY (partition, batch_number, position)
);

-- Accepted events that the database refused to take as a charge. Each raises an alarm and waits for a person.
CREATE TABLE billing.suspense (
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  kind smallint NOT NULL,
  sequence bigint NOT NULL,
  serve_id uuid NOT NULL,
  id_hash bigint NOT NULL,
  event_time timestamptz NOT NULL,
  arrival timestamptz NOT NULL,
  price bigint NOT NULL,
  allotment bigint NOT NULL,
  app text NOT NULL,
  advertiser text NOT NULL,
  campaign text NOT NULL,
  currency text NOT NULL,
  PRIMARY KEY (partition, kind, sequence)
);

-- Revenue per minute of the event time; views add the partitions up (M6).
CREATE TABLE billing.minute_revenue (
  partition int NOT NULL,
  minute timestamptz NOT NULL,
  kind smallint NOT NULL,
  fate smallint NOT NULL,
  app text NOT NULL,
  developer text NOT NULL,
  advertiser text NOT NULL,
  campaign text NOT NULL,
  ad text NOT NULL,
  placement text NOT NULL,
  country text NOT NULL,
  device smallint NOT NULL,
  size smallint NOT NULL,
  currency text NOT NULL,
  events bigint NOT NULL,
  -- What advertisers pay, the developer's part, and the network's, which is below 0 where it bears the loss.
  gross numeric(38,0) NOT NULL,
  developer_amount numeric(38,0) NOT NULL,
  network_amount numeric(38,0) NOT NULL,
  PRIMARY KEY (partition, minute, kind, fate, app, developer, advertiser, campaign, ad, placement, country, device,
    size, currency)
);

-- Ledger --------------------------------------------------------------------------------------------------------------

-- Double entry, one journal for each batch. Accounts: advertiser:ID, developer:ID, network:revenue, network:unfunded.
CREATE TABLE billing.posting (
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  account text NOT NULL,
  currency text NOT NULL,
  debit numeric(38,0) NOT NULL CHECK (debit >= 0),
  credit numeric(38,0) NOT NULL CHECK (credit >= 0),
  PRIMARY KEY (partition, batch_number, account, currency)
);

CREATE TABLE billing.balance (
  partition int NOT NULL,
  account text NOT NULL,
  currency text NOT NULL,
  debit numeric(38,0) NOT NULL,
  credit numeric(38,0) NOT NULL,
  PRIMARY KEY (partition, account, currency)
) WITH (fillfactor = 50);

CREATE FUNCTION billing.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'the ledger is append-only: % of %.% is refused', tg_op, tg_table_schema, tg_table_name
    USING ERRCODE = 'HB003';
END
$function$;

CREATE TRIGGER posting_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.posting
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER funding_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.funding
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

-- A journal is written by one statement and balances in each currency, or is not written (I6).
CREATE FUNCTION billing.check_journal() RETURNS trigger LANGUAGE plpgsql AS $function$
DECLARE
  unbalanced record;
BEGIN
  SELECT partition, batch_number, currency, sum(debit) AS debit, sum(credit) AS credit INTO unbalanced
  FROM written GROUP BY partition, batch_number, currency HAVING sum(debit) <> sum(credit) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'journal % of partition % does not balance: % debit, % credit in %', unbalanced.batch_number,
      unbalanced.partition, unbalanced.debit, unbalanced.credit, unbalanced.currency USING ERRCODE = 'HB004';
  END IF;
  RETURN NULL;
END
$function$;

CREATE TRIGGER journal_balances AFTER INSERT ON billing.posting REFERENCING NEW TABLE AS written
  FOR EACH STATEMENT EXECUTE FUNCTION billing.check_journal();

-- Funding -------------------------------------------------------------------------------------------------------------

-- What an account may be charged in all, as the catalogue says at a version. Lowering takes effect as far as what is
-- charged and allotted allows, and further as allotments return. False: this version, or a later one, was there
-- already.
CREATE FUNCTION billing.fund_account(
  p_advertiser text, p_currency text, p_requested numeric, p_record_version bigint
) RETURNS boolean LANGUAGE plpgsql AS $function$
DECLARE
  new_version bigint;
BEGIN
  INSERT INTO billing.account (advertiser, currency) VALUES (p_advertiser, p_currency) ON CONFLICT DO NOTHING;
  UPDATE billing.account SET requested = p_requested, funded = greatest(p_requested, charged + allotted),
    record_version = p_record_version, version = version + 1
  WHERE advertiser = p_advertiser AND currency = p_currency AND record_version < p_record_version
  RETURNING version INTO new_version;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO billing.funding (advertiser, currency, campaign, record_version, requested, account_version)
  VALUES (p_advertiser, p_currency, '', p_record_version, p_requested, new_version);
  RETURN true;
END
$function$;

-- The same for a campaign's total budget and what each day may be charged (B4). Days that are over stay as they are.
CREATE FUNCTION billing.fund_campaign(
  p_campaign text, p_advertiser text, p_currency text, p_requested numeric, p_daily_budget numeric,
  p_record_version bigint
) RETURNS boolean LANGUAGE plpgsql AS $function$
DECLARE
  new_version bigint;
  -- No time zone's day is further behind.
  first_day int := floor(extract(epoch FROM now()) / 86400)::int - 1;
BEGIN
  INSERT INTO billing.account (advertiser, currency) VALUES (p_advertiser, p_currency) ON CONFLICT DO NOTHING;
  -- Before anything of it is locked, as everybody does.
  PERFORM FROM billing.account WHERE advertiser = p_advertiser AND currency = p_currency FOR UPDATE;
  INSERT INTO billing.campaign (campaign, advertiser, currency) VALUES (p_campaign, p_advertiser, p_currency)
  ON CONFLICT DO NOTHING;
  UPDATE billing.campaign SET requested = p_requested, funded = greatest(p_requested, charged + allotted),
    daily_budget = p_daily_budget, record_version = p_record_version
  WHERE campaign = p_campaign AND advertiser = p_advertiser AND currency = p_currency
    AND record_version < p_record_version;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE billing.campaign_day SET requested = coalesce(p_daily_budget, p_requested),
    funded = greatest(coalesce(p_daily_budget, p_requested), charged + allotted)
  WHERE campaign = p_campaign AND day >= first_day;
  UPDATE billing.account SET version = version + 1 WHERE advertiser = p_advertiser AND currency = p_currency
  RETURNING version INTO new_version;
  INSERT INTO billing.funding
    (advertiser, currency, campaign, record_version, requested, daily_budget, account_version)
  VALUES (p_advertiser, p_currency, p_campaign, p_record_version, p_requested, p_daily_budget, new_version);
  RETURN true;
END
$function$;

-- Settling ------------------------------------------------------------------------------------------------------------

-- Writes the rows of a batch's draws with their fates, what they add to the minutes, and the batch's one journal: what
-- the caller decided by itself (p_posting_...) and what the draws come to.
CREATE FUNCTION billing.write_journal(
  p_partition int, p_batch_number bigint, p_draw_fates smallint[], p_draw_versions bigint[],
  p_posting_accounts text[], p_posting_currencies text[], p_posting_debits numeric[], p_posting_credits numeric[]
) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  written bigint;
BEGIN
  WITH drawn AS (
    DELETE FROM billing.draw WHERE partition = p_partition AND batch_number = p_batch_number RETURNING *
  ), settled AS (
    INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, fate,
      price, amount, developer_amount, network_amount, allotment, budget_day, draw_version, share_basis_points, app,
      developer, advertiser, campaign, ad, placement, country, device, size, currency)
    SELECT d.serve_id, d.kind, d.id_hash, d.partition, d.batch_number, d.sequence, d.event_time, d.arrival, f.fate,
      d.price, CASE WHEN f.fate = 1 THEN d.price ELSE 0 END,
      CASE WHEN f.fate IN (1, 2) THEN d.developer_amount ELSE 0 END,
      CASE f.fate WHEN 1 THEN d.price - d.developer_amount WHEN 2 THEN -d.developer_amount ELSE 0 END,
      d.allotment, d.budget_day, f.version, d.share_basis_points, d.app, d.developer, d.advertiser, d.campaign, d.ad,
      d.placement, d.country, d.device, d.size, d.currency
    FROM drawn d
    CROSS JOIN LATERAL (SELECT p_draw_fates[d.position], p_draw_versions[d.position]) AS f (fate, version)
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
  SELECT count(*) INTO written FROM settled;
  IF written <> cardinality(p_draw_fates) THEN
    RAISE EXCEPTION '% draws are to be settled, % wait for it', cardinality(p_draw_fates), written
      USING ERRCODE = 'HB002';
  END IF;
END
$function$;

-- Everything that a batch does to budgets: the only way in which shared rows change (besides funding), called last,
-- with COMMIT. It locks ascending (account, campaign, day), so nobody waits in a circle, and nobody waits for a client.
--
-- Accounts, campaigns and days are given once each; a campaign names its account, a day its campaign, and everything
-- else its day, by index from 1; draws lie in billing.draw, in their order. In this order: charges to allotments of the
-- partition's own; closes and ends, which return what is free again; draws of events that no allotment could pay, in
-- the batch's order (B4: what finds no free budget is unfunded, or free when it came after its allotment's end);
-- grants, which it returns.
CREATE FUNCTION billing.settle(
  p_partition int, p_batch_number bigint, p_now timestamptz,
  p_account_advertisers text[], p_account_currencies text[],
  p_campaigns text[], p_campaign_accounts int[],
  p_days int[], p_day_campaigns int[],
  p_charge_allotments bigint[], p_charge_amounts bigint[],
  p_close_allotments bigint[], p_close_used bigint[], p_close_times timestamptz[], p_close_days int[],
  p_end_allotments bigint[], p_end_days int[],
  p_draw_prices bigint[], p_draw_are_late boolean[], p_draw_days int[],
  p_ask_ordinals bigint[], p_ask_full_prices bigint[], p_ask_used bigint[], p_ask_ends timestamptz[], p_ask_days int[],
  p_posting_accounts text[], p_posting_currencies text[], p_posting_debits numeric[], p_posting_credits numeric[],
  p_topic text, p_next_sequence bigint, p_partition_count int, p_quiet_ms bigint, p_usual_ms bigint, p_scarce_ms bigint
) RETURNS TABLE (
  id bigint, ordinal bigint, campaign text, budget_day int, amount bigint, serve_until timestamptz,
  campaign_free bigint, granted_at timestamptz
) LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  -- Free budget of each shared row; below 0 while more is charged or allotted than the catalogue now asks for.
  account_free numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_account_advertisers)]);
  account_versions bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_account_advertisers)]);
  campaign_free numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_campaigns)]);
  day_free numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_days)]);
  -- What the batch adds to each day's row, and so to its campaign's and account's.
  day_allotted numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_days)]);
  day_charged numeric[] := array_fill(0::numeric, ARRAY[cardinality(p_days)]);
  draw_fates smallint[] := array_fill(0::smallint, ARRAY[cardinality(p_draw_prices)]);
  draw_versions bigint[] := array_fill(0::bigint, ARRAY[cardinality(p_draw_prices)]);
  locked record;
  day_index int;
  campaign_index int;
  account_index int;
  before bigint;
  after bigint;
  free numeric;
  wanted numeric;
  granted numeric;
  until timestamptz;
  sequence bigint := p_next_sequence;
  changed bigint;
BEGIN
  UPDATE billing.allotment a SET charged = a.charged + c.amount
  FROM unnest(p_charge_allotments, p_charge_amounts) AS c (id, amount)
  WHERE a.id = c.id AND a.partition = p_partition AND a.state < 3;
  GET DIAGNOSTICS changed = ROW_COUNT;
  IF changed <> cardinality(p_charge_allotments) THEN
    RAISE EXCEPTION '% allotments are to be charged, % can be', cardinality(p_charge_allotments), changed
      USING ERRCODE = 'HB002';
  END IF;

  FOR locked IN
    SELECT k.index, a.requested - a.charged - a.allotted AS free, a.version
    FROM unnest(p_account_advertisers, p_account_currencies) WITH ORDINALITY AS k (advertiser, currency, index)
    JOIN billing.account a ON a.advertiser = k.advertiser AND a.currency = k.currency
    ORDER BY a.advertiser, a.currency FOR UPDATE OF a
  LOOP
    account_free[locked.index] := locked.free;
    account_versions[locked.index] := locked.version;
  END LOOP;
  FOR locked IN
    SELECT k.index, c.requested - c.charged - c.allotted AS free
    FROM unnest(p_campaigns, p_campaign_accounts) WITH ORDINALITY AS k (campaign, account, index)
    JOIN billing.campaign c ON c.campaign = k.campaign AND c.advertiser = p_account_advertisers[k.account]
      AND c.currency = p_account_currencies[k.account]
    ORDER BY c.campaign FOR UPDATE OF c
  LOOP
    campaign_free[locked.index] := locked.free;
  END LOOP;
  INSERT INTO billing.campaign_day (campaign, day, requested, funded)
  SELECT c.campaign, k.day, coalesce(c.daily_budget, c.requested), coalesce(c.daily_budget, c.requested)
  FROM unnest(p_days, p_day_campaigns) AS k (day, campaign)
  JOIN billing.campaign c ON c.campaign = p_campaigns[k.campaign]
    AND c.advertiser = p_account_advertisers[p_campaign_accounts[k.campaign]]
    AND c.currency = p_account_currencies[p_campaign_accounts[k.campaign]]
  ON CONFLICT DO NOTHING;
  FOR locked IN
    SELECT k.index, d.requested - d.charged - d.allotted AS free
    FROM unnest(p_days, p_day_campaigns) WITH ORDINALITY AS k (day, campaign, index)
    JOIN billing.campaign_day d ON d.campaign = p_campaigns[k.campaign] AND d.day = k.day
    ORDER BY d.campaign, d.day FOR UPDATE OF d
  LOOP
    day_free[locked.index] := locked.free;
  END LOOP;

  -- Closes: what was not used returns at once, though never what is charged already.
  FOR i IN 1..cardinality(p_close_allotments) LOOP
    day_index := p_close_days[i];
    campaign_index := p_day_campaigns[day_index];
    account_index := p_campaign_accounts[campaign_index];
    account_versions[account_index] := account_versions[account_index] + 1;
    SELECT a.amount, least(a.amount, greatest(p_close_used[i], a.charged)) INTO before, after
    FROM billing.allotment a WHERE a.id = p_close_allotments[i] AND a.partition = p_partition AND a.state = 1;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'allotment % is not open', p_close_allotments[i] USING ERRCODE = 'HB002';
    END IF;
    UPDATE billing.allotment a SET state = 2, amount = after, used = p_close_used[i], closed_at = p_close_times[i],
      close_version = account_versions[account_index]
    WHERE a.id = p_close_allotments[i];
    day_allotted[day_index] := day_allotted[day_index] - (before - after);
    day_free[day_index] := day_free[day_index] + (before - after);
    campaign_free[campaign_index] := campaign_free[campaign_index] + (before - after);
    account_free[account_index] := account_free[account_index] + (before - after);
  END LOOP;

  -- Ends: what was charged stays charged, the rest returns.
  FOR i IN 1..cardinality(p_end_allotments) LOOP
    day_index := p_end_days[i];
    campaign_index := p_day_campaigns[day_index];
    account_index := p_campaign_accounts[campaign_index];
    account_versions[account_index] := account_versions[account_index] + 1;
    SELECT a.amount, a.charged INTO before, after
    FROM billing.allotment a WHERE a.id = p_end_allotments[i] AND a.partition = p_partition AND a.state < 3;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'allotment % has ended before', p_end_allotments[i] USING ERRCODE = 'HB002';
    END IF;
    UPDATE billing.allotment a SET state = 3, amount = after, ended_at = p_now,
      end_version = account_versions[account_index]
    WHERE a.id = p_end_allotments[i];
    day_allotted[day_index] := day_allotted[day_index] - before;
    day_charged[day_index] := day_charged[day_index] + after;
    day_free[day_index] := day_free[day_index] + (before - after);
    campaign_free[campaign_index] := campaign_free[campaign_index] + (before - after);
    account_free[account_index] := account_free[account_index] + (before - after);
  END LOOP;

  -- Draws: charged whole or not at all.
  FOR i IN 1..cardinality(p_draw_prices) LOOP
    day_index := p_draw_days[i];
    campaign_index := p_day_campaigns[day_index];
    account_index := p_campaign_accounts[campaign_index];
    account_versions[account_index] := account_versions[account_index] + 1;
    draw_versions[i] := account_versions[account_index];
    free := least(account_free[account_index], campaign_free[campaign_index], day_free[day_index]);
    IF p_draw_prices[i] <= free THEN
      draw_fates[i] := 1;
      day_charged[day_index] := day_charged[day_index] + p_draw_prices[i];
      day_free[day_index] := day_free[day_index] - p_draw_prices[i];
      campaign_free[campaign_index] := campaign_free[campaign_index] - p_draw_prices[i];
      account_free[account_index] := account_free[account_index] - p_draw_prices[i];
    ELSE
      draw_fates[i] := CASE WHEN p_draw_are_late[i] THEN 3 ELSE 2 END;
    END IF;
  END LOOP;

  -- Grants: what the partition uses in a minute, at least one ad's full price; while there is plenty, more to start
  -- with, though for all partitions together never more than a twentieth of what is free.
  FOR i IN 1..cardinality(p_ask_ordinals) LOOP
    day_index := p_ask_days[i];
    campaign_index := p_day_campaigns[day_index];
    account_index := p_campaign_accounts[campaign_index];
    free := least(account_free[account_index], campaign_free[campaign_index], day_free[day_index]);
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
      granted, amount, campaign_free, serve_until, batch_number, granted_at, grant_version)
    VALUES ((p_partition::bigint << 40) | sequence, p_partition, p_ask_ordinals[i], p_campaigns[campaign_index],
      p_account_advertisers[account_index], p_account_currencies[account_index], p_days[day_index], granted, granted,
      least(free - granted, 9223372036854775807), until, p_batch_number, p_now, account_versions[account_index])
    RETURNING a.id, a.ordinal, a.campaign, a.budget_day, a.granted, a.serve_until, a.campaign_free, a.granted_at;
    sequence := sequence + 1;
  END LOOP;

  -- The shared rows. funded only ever falls here: that charged + allotted stays below it is for the constraints to
  -- judge.
  UPDATE billing.campaign_day d SET allotted = d.allotted + k.allotted, charged = d.charged + k.charged,
    funded = least(d.funded, greatest(d.requested, d.allotted + k.allotted + d.charged + k.charged))
  FROM unnest(p_days, p_day_campaigns, day_allotted, day_charged) AS k (day, campaign, allotted, charged)
  WHERE d.campaign = p_campaigns[k.campaign] AND d.day = k.day
    -- A campaign may be named with an account that is not its own: that has no budget, and must not hide the real one.
    AND EXISTS (
      SELECT FROM billing.campaign c WHERE c.campaign = d.campaign
        AND c.advertiser = p_account_advertisers[p_campaign_accounts[k.campaign]]
        AND c.currency = p_account_currencies[p_campaign_accounts[k.campaign]]);
  UPDATE billing.campaign c SET allotted = c.allotted + k.allotted, charged = c.charged + k.charged,
    funded = least(c.funded, greatest(c.requested, c.allotted + k.allotted + c.charged + k.charged))
  FROM (
    SELECT d.campaign, sum(d.allotted) AS allotted, sum(d.charged) AS charged
    FROM unnest(p_day_campaigns, day_allotted, day_charged) AS d (campaign, allotted, charged) GROUP BY d.campaign
  ) AS k
  WHERE c.campaign = p_campaigns[k.campaign] AND c.advertiser = p_account_advertisers[p_campaign_accounts[k.campaign]]
    AND c.currency = p_account_currencies[p_campaign_accounts[k.campaign]];
  UPDATE billing.account a SET allotted = a.allotted + k.allotted, charged = a.charged + k.charged,
    funded = least(a.funded, greatest(a.requested, a.allotted + k.allotted + a.charged + k.charged)),
    version = account_versions[k.account]
  FROM (
    SELECT p_campaign_accounts[d.campaign] AS account, sum(d.allotted) AS allotted, sum(d.charged) AS charged
    FROM unnest(p_day_campaigns, day_allotted, day_charged) AS d (campaign, allotted, charged) GROUP BY 1
  ) AS k
  WHERE a.advertiser = p_account_advertisers[k.account] AND a.currency = p_account_currencies[k.account];

  IF sequence > p_next_sequence THEN
    UPDATE billing.output o SET next_sequence = sequence WHERE o.partition = p_partition AND o.topic = p_topic;
    UPDATE billing.batch b SET next_sequences = ARRAY[sequence]
    WHERE b.partition = p_partition AND b.batch_number = p_batch_number;
  END IF;
  IF cardinality(p_draw_prices) + cardinality(p_posting_accounts) > 0 THEN
    PERFORM billing.write_journal(p_partition, p_batch_number, draw_fates, draw_versions, p_posting_accounts,
      p_posting_currencies, p_posting_debits, p_posting_credits);
  END IF;
END
$function$;

SELECT public.keep_days('billing.charge'::regclass, current_date, 2, 3, 400);
