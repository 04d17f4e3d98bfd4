-- Click tracking: clicks with their verdicts, what waits for its impression, stopped actions, and counts per minute.

-- When each served ad was shown: what a click is judged against (M5). Each accepted impression is taken once.
CREATE TABLE click_tracking.impression (
  serve_id uuid NOT NULL,
  shown_at timestamptz NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  PRIMARY KEY (serve_id)
) PARTITION BY RANGE (serve_id);

-- One row for each decided click. A click's identity is its serve and the hash of its event id.
CREATE TABLE click_tracking.click (
  serve_id uuid NOT NULL,
  id_hash bigint NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  sequence bigint NOT NULL,
  verdict smallint NOT NULL CHECK (verdict BETWEEN 1 AND 8),
  -- its record's outcome was "parked", and this row is its later fate
  was_parked boolean NOT NULL,
  event_time timestamptz NOT NULL,
  arrival timestamptz NOT NULL,
  LIKE public.terms,
  is_accidental boolean NOT NULL DEFAULT false,
  is_judged boolean NOT NULL DEFAULT true,
  PRIMARY KEY (serve_id, id_hash)
) PARTITION BY RANGE (serve_id);
COMMENT ON COLUMN click_tracking.click.verdict IS
  '1 billable; free: 2 repeat, 3 accidental, 4 too early, 5 too late, 6 limited, 7 no impression, 8 impossible';
COMMENT ON COLUMN click_tracking.click.is_accidental IS
  'its action was over too soon (M7), whatever prevails in the verdict';
COMMENT ON COLUMN click_tracking.click.is_judged IS
  'false for a repeat or limited click that has no verdict of its own, because too many came before it';
CREATE INDEX click_batch ON click_tracking.click USING brin (batch_number) WITH (pages_per_range = 32);
-- A served ad has at most one billable click, whatever else goes wrong (M4).
CREATE UNIQUE INDEX click_billable ON click_tracking.click (serve_id) WHERE verdict = 1;
-- The clicks of a client that bear on others: on those of the same ad, of the same day, and within the limits' windows.
CREATE INDEX click_judged ON click_tracking.click (client_hash, serve_id) WHERE is_judged;

-- Clicks that wait for their impression, with all that their verdict will need. At most four of a serve.
CREATE TABLE click_tracking.parked (
  serve_id uuid NOT NULL,
  id_hash bigint NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  record_offset bigint NOT NULL,
  is_accidental boolean NOT NULL,
  event_time timestamptz NOT NULL,
  arrival timestamptz NOT NULL,
  LIKE public.terms,
  PRIMARY KEY (serve_id, id_hash)
);
COMMENT ON TABLE click_tracking.parked IS
  'Clicks without a verdict yet: their ad was not seen, or an earlier click of the client is not decided.';
CREATE INDEX parked_partition ON click_tracking.parked (partition);
CREATE INDEX parked_client ON click_tracking.parked (client_hash);

-- Actions that the app blocked or cancelled: never billed, counted for A7.
CREATE TABLE click_tracking.stopped_action (
  serve_id uuid NOT NULL,
  -- 2 blocked (D7), 3 cancelled (D9)
  kind smallint NOT NULL CHECK (kind IN (2, 3)),
  id_hash bigint NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  event_time timestamptz NOT NULL,
  app text NOT NULL,
  campaign text NOT NULL,
  is_test boolean NOT NULL,
  PRIMARY KEY (serve_id, kind, id_hash)
) PARTITION BY RANGE (serve_id);

-- Counts per minute of the event time. The partition is in the key, so no two instances wait for one row; views add up.
-- Half of each page is left free, as in ad_selection.minute_count.
CREATE TABLE click_tracking.minute_count (
  partition int NOT NULL,
  minute timestamptz NOT NULL,
  -- 1 click, 2 blocked, 3 cancelled
  kind smallint NOT NULL,
  -- of a click, as in click_tracking.click; else 0
  verdict smallint NOT NULL,
  app text NOT NULL,
  campaign text NOT NULL,
  ad text NOT NULL,
  placement text NOT NULL,
  country text NOT NULL,
  size smallint NOT NULL,
  device smallint NOT NULL,
  is_test boolean NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (partition, minute, kind, verdict, app, campaign, ad, placement, country, size, device, is_test)
) WITH (fillfactor = 50);
