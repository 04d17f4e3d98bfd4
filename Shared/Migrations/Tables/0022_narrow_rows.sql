-- Rows of what every shown ad writes, without what says nothing.

-- A NULL in a row costs it the bitmap of all columns, here 8 bytes: most deliveries are no failures. -1 where none failed, as
-- in the counts.
UPDATE impression_tracking.delivery_row SET error = coalesce(error, -1) WHERE error IS NULL;
ALTER TABLE impression_tracking.delivery_row ALTER COLUMN error SET NOT NULL;

-- Nobody asks for the batch in which click tracking heard of an impression.
ALTER TABLE click_tracking.impression DROP COLUMN batch_number;

-- What tells the clicks of a serve from each other tells them from its impression, too, whose hash is 0.
ALTER TABLE billing.charge_row DROP CONSTRAINT charge_row_pkey, ADD PRIMARY KEY (serve_id, id_hash);

-- Decisions have their columns of eight bytes first, so that none is padded.
ALTER TABLE ad_selection.decision_row RENAME TO decision_before;
CREATE TABLE ad_selection.decision_row (
  serve_id uuid NOT NULL,
  request_id uuid NOT NULL,
  batch_number bigint NOT NULL,
  client_hash bigint NOT NULL,
  arrival timestamptz NOT NULL,
  deadline timestamptz NOT NULL,
  -- Of what was served, besides the terms.
  allotment bigint,
  terms bigint,
  creative bigint,
  -- Nanos of the allotment that the ad may cost at most.
  reserved bigint,
  -- What went into the auction; null where there was none.
  rules bigint,
  catalog_change bigint,
  partition int NOT NULL,
  budget_day int,
  -- Why the others did not win: ads considered, ads outbid, and how many were excluded by which rule first.
  candidates int NOT NULL,
  outbid int NOT NULL,
  batch_place int,
  required_sizes int,
  device smallint NOT NULL,
  -- The current size; null where the request's sizes are unknown.
  size smallint,
  outcome smallint NOT NULL,
  reason smallint NOT NULL,
  -- Code of rules E; null where an ad was served.
  error smallint,
  paid_ads smallint,
  is_test boolean NOT NULL,
  is_interstitial boolean,
  country text NOT NULL,
  placement text NOT NULL,
  -- Null where an ad was served: its terms tell it.
  app text,
  detail text,
  -- Millionths of a nano.
  expected_value numeric(38,0),
  excluded_reasons smallint[],
  excluded_counts int[],
  segments text[],
  PRIMARY KEY (serve_id),
  CONSTRAINT decision_is_whole CHECK (
    CASE WHEN terms IS NOT NULL
      THEN num_nulls(creative, size, allotment, budget_day) = 0 AND error IS NULL AND app IS NULL
      ELSE creative IS NULL AND error IS NOT NULL AND app IS NOT NULL
    END),
  -- Test ads are nobody's money (A2, I8).
  CONSTRAINT decision_test_is_free CHECK (NOT is_test OR coalesce(allotment, 0) = 0)
) PARTITION BY RANGE (serve_id);

DO $do$
DECLARE
  day record;
  names text;
BEGIN
  SELECT string_agg(quote_ident(attname), ', ') INTO names FROM pg_attribute
  WHERE attrelid = 'ad_selection.decision_row'::regclass AND attnum > 0;
  FOR day IN
    SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'ad_selection.decision_before'::regclass
  LOOP
    EXECUTE format('ALTER TABLE ad_selection.%I RENAME TO %I', day.name, 'before_' || day.name);
    EXECUTE format('CREATE TABLE ad_selection.%I PARTITION OF ad_selection.decision_row %s', day.name, day.bounds);
  END LOOP;
  EXECUTE format('INSERT INTO ad_selection.decision_row (%1$s) SELECT %1$s FROM ad_selection.decision_before', names);
END
$do$;
-- With the view that reads it: one of the same name is made again in its place.
DROP TABLE ad_selection.decision_before CASCADE;

-- As they were: how many test requests each client has made, and decisions by the ids of their requests.
CREATE INDEX decision_test ON ad_selection.decision_row (partition, client_hash) WHERE is_test;
CREATE INDEX decision_request ON ad_selection.decision_row USING brin (request_id uuid_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = on);
