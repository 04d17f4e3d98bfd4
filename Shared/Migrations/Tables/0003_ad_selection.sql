-- Ad selection: one row for each decision, the allotments it sells from, and counts per minute.

-- One row for each request that was decided, whatever the decision; requests that came twice, or belong to another
-- partition, have none. The id is the serve id where an ad was served (reasons 1 to 3), and its time is the decision's.
-- Decisions are facts: they are read back, never made again.
CREATE TABLE ad_selection.decision (
  serve_id uuid NOT NULL,
  partition int NOT NULL,
  -- Terms, all of them where an ad was served: what the serve token says, and what is billed (I2).
  expires_at timestamptz,
  app text NOT NULL,
  developer text,
  advertiser text,
  campaign text,
  ad text,
  placement text NOT NULL,
  country text NOT NULL,
  device smallint NOT NULL,
  -- The current size; null where the request's sizes are unknown.
  size smallint,
  impression_price bigint,
  click_price bigint,
  currency text,
  share_basis_points int,
  allotment bigint,
  budget_day int,
  client_hash bigint NOT NULL,
  is_test boolean NOT NULL,
  -- The request and its fate.
  batch_number bigint NOT NULL,
  request_id uuid NOT NULL,
  arrival timestamptz NOT NULL,
  deadline timestamptz NOT NULL,
  outcome smallint NOT NULL,
  reason smallint NOT NULL,
  -- Code of rules E; null where an ad was served.
  error smallint,
  detail text,
  -- What was answered besides the terms, so that the same request gets the same answer after a restart.
  lifetime_milliseconds bigint,
  image_sizes smallint[],
  image_urls text[],
  action smallint,
  destination text,
  -- Nanos of the allotment that the ad may cost at most.
  reserved bigint,
  -- Millionths of a nano.
  expected_value numeric(38,0),
  -- Why the others did not win: ads considered, ads outbid, and how many were excluded by which rule first.
  candidates int NOT NULL,
  outbid int NOT NULL,
  excluded_reasons smallint[] NOT NULL,
  excluded_counts int[] NOT NULL,
  PRIMARY KEY (serve_id),
  CONSTRAINT decision_is_whole CHECK (
    CASE WHEN reason IN (1, 2, 3)
      THEN num_nulls(expires_at, developer, advertiser, campaign, ad, size, impression_price, click_price, currency,
        share_basis_points, allotment, budget_day, lifetime_milliseconds, image_sizes, image_urls, action,
        destination) = 0 AND error IS NULL
      ELSE ad IS NULL AND error IS NOT NULL
    END),
  -- Test ads are nobody's money (A2, I8).
  CONSTRAINT decision_test_is_free CHECK (
    NOT is_test OR coalesce(impression_price, 0) = 0 AND coalesce(click_price, 0) = 0 AND coalesce(allotment, 0) = 0)
) PARTITION BY RANGE (serve_id);
CREATE INDEX decision_batch ON ad_selection.decision USING brin (batch_number) WITH (pages_per_range = 32);
-- How many test requests each client has made: test ads follow from it.
CREATE INDEX decision_test ON ad_selection.decision (partition, client_hash) WHERE is_test;
-- A client names its request, and not its serve: decisions are looked for by request id among those of some days.
-- Request ids carry the time of the client's clock, so that those of a range of pages lie side by side but for some;
-- such ranges are held apart. Measured on 400,000 decisions, a thousandth of them by wrong clocks: COPY takes 2 % more
-- time of the processor (a B-tree: 32 %, and 16 % more to log), the index is 0.4 MB (12 MB), a look-up takes 10 ms (0.1
-- ms).
CREATE INDEX decision_request ON ad_selection.decision USING brin (request_id uuid_minmax_multi_ops)
  WITH (pages_per_range = 32, autosummarize = on);

-- Pieces of budget that one partition may use. An id is billing's; campaign, budget day and ordinal are what was asked
-- for.
CREATE TABLE ad_selection.allotment (
  id bigint PRIMARY KEY,
  partition int NOT NULL,
  ordinal bigint NOT NULL CHECK (ordinal >= 1),
  campaign text NOT NULL,
  budget_day int NOT NULL,
  amount bigint NOT NULL CHECK (amount >= 1),
  used bigint NOT NULL DEFAULT 0,
  serve_until timestamptz NOT NULL,
  -- The batch that took the grant.
  batch_number bigint NOT NULL,
  closed_at timestamptz,
  -- The sequence of its report on ads.usage.
  report_sequence bigint,
  -- What each ad sold sets aside for its click, in parts per million of the click's price: first of all ads, then of
  -- those that have a bound of their own, as in 43590,summer-1=120000.
  click_rates text NOT NULL,
  -- The clicks' part of used.
  used_for_clicks bigint NOT NULL DEFAULT 0,
  CONSTRAINT allotment_used CHECK (used >= 0 AND used <= amount),
  CONSTRAINT allotment_closed CHECK ((closed_at IS NULL) = (report_sequence IS NULL)),
  CONSTRAINT allotment_used_for_clicks CHECK (used_for_clicks >= 0 AND used_for_clicks <= used),
  UNIQUE (partition, campaign, budget_day, ordinal),
  UNIQUE (partition, report_sequence)
) WITH (fillfactor = 50);
CREATE INDEX allotment_open ON ad_selection.allotment (partition, serve_until) WHERE closed_at IS NULL;

-- A closed allotment is never used, and never opened again.
CREATE FUNCTION ad_selection.refuse_closed_allotment() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'allotment % is closed', OLD.id USING ERRCODE = 'check_violation';
END
$function$;
CREATE TRIGGER allotment_is_closed BEFORE UPDATE ON ad_selection.allotment
  FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL) EXECUTE FUNCTION ad_selection.refuse_closed_allotment();

-- 16 the key is unknown, 17 revoked, 18 another app's; 42 not known yet, since the catalogue was not complete.
CREATE FUNCTION ad_selection.is_without_app_key(reason smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$function$
  SELECT reason IN (16, 17, 18, 42)
$function$;

-- Counts per minute of the arrival (M1, M6): every request but duplicates, refused ones too. The partition is in the
-- key, so no two instances wait for one row; views add up. Half of each page is left free: counts change many times in
-- their minute, and a change that finds room beside the row touches no index (measured: 11 us instead of 40 us).
CREATE TABLE ad_selection.minute_count (
  partition int NOT NULL,
  minute timestamptz NOT NULL,
  -- Why it was decided so; 1 to 3 are fills.
  reason smallint NOT NULL,
  app text NOT NULL,
  placement text NOT NULL,
  -- Empty where no ad was served.
  campaign text NOT NULL,
  ad text NOT NULL,
  country text NOT NULL,
  device smallint NOT NULL,
  -- 0 where the request's sizes are unknown.
  size smallint NOT NULL,
  is_test boolean NOT NULL,
  requests bigint NOT NULL,
  fills bigint NOT NULL,
  -- Code of rules E that a test request got though it did not happen (A2): its reason says no more than that it was
  -- injected. -1 where none was.
  injected_error smallint NOT NULL DEFAULT -1,
  PRIMARY KEY (partition, minute, reason, app, placement, campaign, ad, country, device, size, is_test, injected_error),
  CONSTRAINT minute_count_is_of_app CHECK (NOT ad_selection.is_without_app_key(reason))
) WITH (fillfactor = 50);

-- Requests without their app's key count for no app (M1, A1): by the day of their decision and by reason alone, so that
-- nothing that a stranger invents makes a row. Each has its decision all the same.
CREATE TABLE ad_selection.keyless_count (
  partition int NOT NULL,
  day date NOT NULL,
  reason smallint NOT NULL CHECK (ad_selection.is_without_app_key(reason)),
  requests bigint NOT NULL,
  PRIMARY KEY (partition, day, reason)
);

-- Up to which batch a partition's requests are in minute_count. Later ones are counted by the process that decided
-- them, and from their decisions by its successor.
CREATE TABLE ad_selection.counted (
  partition int PRIMARY KEY,
  batch_number bigint NOT NULL,
  -- When that batch was committed: later decisions have later ids.
  committed_at timestamptz NOT NULL
);
