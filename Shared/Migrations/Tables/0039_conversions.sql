-- What users did in advertised apps after a click (M8), told with their consent: no client is in it (A8). Whether the click
-- counts says the click's own row.
CREATE TABLE click_tracking.conversion (
  serve_id uuid NOT NULL,
  -- Of a purchase, which counts each time; 0 of what counts once for a click.
  id_hash bigint NOT NULL,
  batch_number bigint NOT NULL,
  -- What it was worth to the advertiser, as he tells it, in nanos.
  value bigint NOT NULL CHECK (value >= 0),
  event_time timestamptz NOT NULL,
  arrival timestamptz NOT NULL,
  partition int NOT NULL,
  kind smallint NOT NULL,
  is_test boolean NOT NULL,
  -- That told it: the advertised one.
  app text NOT NULL,
  -- Of the value; empty where none is told.
  currency text NOT NULL,
  PRIMARY KEY (serve_id, kind, id_hash, partition, is_test)
) PARTITION BY RANGE (serve_id);
COMMENT ON TABLE click_tracking.conversion IS 'What users did in advertised apps after a click (M8).';
