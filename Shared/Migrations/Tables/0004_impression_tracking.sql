-- Impression tracking: accepted impressions, what else devices tell about an ad's life, and counts per minute.

-- One row for each impression that counts (M1, M4). The id is the serve id: a second one cannot be stored.
CREATE TABLE impression_tracking.impression (
  serve_id uuid NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  sequence bigint NOT NULL,
  event_time timestamptz NOT NULL,
  arrival timestamptz NOT NULL,
  LIKE public.terms,
  PRIMARY KEY (serve_id)
) PARTITION BY RANGE (serve_id);
CREATE INDEX impression_batch ON impression_tracking.impression USING brin (batch_number) WITH (pages_per_range = 32);

-- Rendered, unloaded and failed ads: once each for a serve.
CREATE TABLE impression_tracking.delivery (
  serve_id uuid NOT NULL,
  kind smallint NOT NULL,
  error smallint,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  event_time timestamptz NOT NULL,
  app text NOT NULL,
  campaign text NOT NULL,
  ad text NOT NULL,
  placement text NOT NULL,
  country text NOT NULL,
  size smallint NOT NULL,
  device smallint NOT NULL,
  is_test boolean NOT NULL,
  PRIMARY KEY (serve_id, kind)
) PARTITION BY RANGE (serve_id);
COMMENT ON COLUMN impression_tracking.delivery.kind IS
  '1 rendered, 3 unloaded, 4 failed, 5 viewed sooner than can be: no impression';
CREATE INDEX delivery_batch ON impression_tracking.delivery USING brin (batch_number) WITH (pages_per_range = 32);

-- Errors that happened without an ad (E1, E5, E6), by request id.
CREATE TABLE impression_tracking.failure (
  request_id uuid NOT NULL,
  error smallint NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  arrival timestamptz NOT NULL,
  app text NOT NULL,
  placement text NOT NULL,
  PRIMARY KEY (request_id, error)
) PARTITION BY RANGE (request_id);
CREATE INDEX failure_batch ON impression_tracking.failure USING brin (batch_number) WITH (pages_per_range = 32);

-- Counts per minute of the event time. The partition is in the key, so no two instances wait for one row; views add up.
-- Half of each page is left free, as in ad_selection.minute_count.
CREATE TABLE impression_tracking.minute_count (
  partition int NOT NULL,
  minute timestamptz NOT NULL,
  kind smallint NOT NULL,
  -- code of rules E for a failure, else -1
  error smallint NOT NULL,
  app text NOT NULL,
  campaign text NOT NULL,
  ad text NOT NULL,
  placement text NOT NULL,
  country text NOT NULL,
  size smallint NOT NULL,
  device smallint NOT NULL,
  is_test boolean NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (partition, minute, kind, error, app, campaign, ad, placement, country, size, device, is_test)
) WITH (fillfactor = 50);
COMMENT ON COLUMN impression_tracking.minute_count.kind IS
  '1 rendered, 2 viewed (the impression), 3 unloaded, 4 failed, 5 viewed sooner than can be';

-- Up to which batch a partition's events are in minute_count. Later ones are counted by the process that decided them,
-- and from the rows above by its successor.
CREATE TABLE impression_tracking.counted (
  partition int PRIMARY KEY,
  batch_number bigint NOT NULL
);
