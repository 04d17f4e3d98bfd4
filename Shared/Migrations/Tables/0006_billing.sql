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
  -- The prices of what waits: grants leave so much of the free budget alone.
  waiting numeric(38,0) NOT NULL DEFAULT 0 CHECK (waiting >= 0),
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
  waiting numeric(38,0) NOT NULL DEFAULT 0 CHECK (waiting >= 0),
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
  waiting numeric(38,0) NOT NULL DEFAULT 0 CHECK (waiting >= 0),
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
  -- What each ad sold sets aside for its click, as in ad_selection.allotment.
  click_rates text NOT NULL,
  -- What is set aside for clicks: while it is open, of the ads seen so far; once closed, of all that were sold.
  click_reserve bigint NOT NULL DEFAULT 0,
  -- The clicks' part of charged.
  clicks_charged bigint NOT NULL DEFAULT 0 CHECK (clicks_charged >= 0),
  -- Each ordinal is granted once, so that asking again is harmless.
  UNIQUE (partition, campaign, budget_day, ordinal),
  CONSTRAINT allotment_holds CHECK (charged <= amount AND amount <= granted),
  CONSTRAINT allotment_click_reserve CHECK (clicks_charged <= click_reserve AND click_reserve <= amount),
  CONSTRAINT allotment_clicks CHECK (clicks_charged <= charged)
) WITH (fillfactor = 50);
CREATE INDEX allotment_not_ended ON billing.allotment (partition) WHERE state < 3;

-- How often ads were seen and clicked, as far as it is remembered: of each ad, of its campaign (ad empty), of the
-- network (both empty). Both counts are halved now and then, so that a rate follows what changes.
CREATE TABLE billing.click_count (
  partition int NOT NULL,
  campaign text COLLATE "C" NOT NULL,
  ad text COLLATE "C" NOT NULL,
  impressions bigint NOT NULL CHECK (impressions >= 0),
  clicks bigint NOT NULL CHECK (clicks >= 0),
  PRIMARY KEY (partition, campaign, ad)
) WITH (fillfactor = 50);

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
COMMENT ON COLUMN billing.charge.fate IS
  '1 charged, 2 unfunded, 3 free because late, 4 waiting (only in billing.waiting); 16 and the click''s verdict: free, '
  '18 repeat, 19 accidental, 20 too early, 21 too late, 22 limited, 23 no impression, 24 impossible';
COMMENT ON COLUMN billing.charge.allotment IS
  'The allotment that paid; where none did, the one that the ad was sold from.';
CREATE INDEX charge_batch ON billing.charge USING brin (batch_number) WITH (pages_per_range = 32);

-- Events that draw on free budget, between their COPY and their fate in the same transaction: empty for everybody else,
-- and no loss after a crash. developer_amount is what the developer gets if the event is charged or unfunded.
CREATE UNLOGGED TABLE billing.draw (
  LIKE billing.charge,
  position int NOT NULL,
  PRIMARY KEY (partition, batch_number, position)
);

-- Accepted events that wait for budget, with fate 4. Each is charged, or unfunded, at the latest when the last
-- allotment that could return some has ended. batch_number and position are the order in which they began to wait.
CREATE TABLE billing.waiting (
  LIKE billing.charge,
  position int NOT NULL,
  PRIMARY KEY (partition, batch_number, position)
);
CREATE INDEX waiting_serve ON billing.waiting (serve_id);
CREATE INDEX waiting_place ON billing.waiting (partition, campaign, budget_day, batch_number, position);

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

-- Settling ------------------------------------------------------------------------------------------------------------

-- What billing.settle is told, a type for each kind of row. Accounts, campaigns and days are given once each; a
-- campaign names its account, a day its campaign, and everything else its day, by index from 1.

CREATE TYPE billing.settle_batch AS (
  partition int, batch_number bigint, decided_at timestamptz, topic text, next_sequence bigint);
CREATE TYPE billing.settle_limits AS (
  partition_count int, quiet_ms bigint, usual_ms bigint, scarce_ms bigint, scarce_clicks bigint, ready_maximum int);
CREATE TYPE billing.settle_account AS (advertiser text, currency text);
CREATE TYPE billing.settle_campaign AS (campaign text, account int);
CREATE TYPE billing.settle_day AS (day int, campaign int);
-- What allotments of the partition's own pay.
CREATE TYPE billing.settle_charge AS (allotment bigint, amount bigint, for_clicks bigint, click_reserve bigint);
-- An allotment that closes or ends, and so returns what it need not keep: the state that it gets.
CREATE TYPE billing.settle_return AS (
  allotment bigint, state smallint, used bigint, used_for_clicks bigint, returned_at timestamptz, day int);
-- An event that no allotment could pay: a row of billing.draw, in their order.
CREATE TYPE billing.settle_draw AS (price bigint, is_late boolean, day int);
CREATE TYPE billing.settle_ask AS (
  ordinal bigint, full_price bigint, click_price bigint, used bigint, ends_at timestamptz, click_rates text, day int);
CREATE TYPE billing.settle_posting AS (account text, currency text, debit numeric, credit numeric);

-- What became of a draw, and of an event that waited and waits no more; the account's version at the decision.
CREATE TYPE billing.settle_fate AS (fate smallint, version bigint);
CREATE TYPE billing.settle_ready AS (batch_number bigint, place int, fate smallint, version bigint);

-- How far a settlement has come. Amounts are of rows: of each account, then of each campaign, then of each day.
CREATE TYPE billing.settlement AS (
  accounts billing.settle_account[],
  campaigns billing.settle_campaign[],
  days billing.settle_day[],
  -- Of each day: its account's row, its campaign's, its own.
  account_rows int[],
  campaign_rows int[],
  day_rows int[],
  -- Free budget; below 0 while more is charged or allotted than the catalogue now asks for.
  free numeric[],
  -- What would be free if every allotment returned everything.
  remaining numeric[],
  -- What waits for it.
  waiting numeric[],
  -- What the batch adds to each row.
  allotted numeric[],
  charged numeric[],
  waits numeric[],
  -- Of each account.
  versions bigint[],
  -- Of each day: whether something waits there, so that what follows waits as well.
  is_waited_for boolean[],
  fates billing.settle_fate[],
  ready billing.settle_ready[],
  next_sequence bigint
);
