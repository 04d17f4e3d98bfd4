-- Paid and house ads that one batch served, many in a row: a row for each cost 239 bytes of disk with its key, of which it
-- alone says 60. What is anything else (no ad, test traffic, with segments, of a client whose clock is far off) stays in
-- decision_row, and so does a batch of few.
--
-- Only those of one second lie together, as in click_tracking.impression_pack, so that whoever looks for a serve id knows where.
-- A request id is its client's own and can lie anywhere; but packed is only what was decided within a minute of the time that
-- its request id carries, so that it is found by that.
CREATE TABLE ad_selection.decision_pack (
  -- The lowest and the highest of its ids.
  serve_id uuid NOT NULL,
  last_serve_id uuid NOT NULL,
  batch_number bigint NOT NULL,
  rules bigint NOT NULL,
  catalog_change bigint,
  partition int NOT NULL,
  outcome smallint NOT NULL,
  -- In the order in which they were made; each array as the column of decision_row.
  serve_ids uuid[] NOT NULL,
  request_ids uuid[] NOT NULL,
  client_hashes bigint[] NOT NULL,
  arrivals timestamptz[] NOT NULL,
  -- From arrival to deadline, in milliseconds.
  deadlines_ms int[] NOT NULL,
  allotments bigint[] NOT NULL,
  terms bigint[] NOT NULL,
  creatives bigint[] NOT NULL,
  reserved bigint[] NOT NULL,
  budget_days int[] NOT NULL,
  candidates int[] NOT NULL,
  outbid int[] NOT NULL,
  batch_indexes smallint[] NOT NULL,
  required_sizes int[] NOT NULL,
  devices smallint[] NOT NULL,
  sizes smallint[] NOT NULL,
  reasons smallint[] NOT NULL,
  paid_ads smallint[] NOT NULL,
  are_interstitial boolean[] NOT NULL,
  edge_flags smallint[] NOT NULL,
  countries text[] NOT NULL,
  placements text[] NOT NULL,
  expected_values numeric[] NOT NULL,
  -- Each a list, as text: an array has no elements of different lengths.
  excluded_reasons text[] NOT NULL,
  excluded_counts text[] NOT NULL,
  PRIMARY KEY (serve_id, partition),
  CONSTRAINT decision_pack_is_whole CHECK (cardinality(serve_ids) = ALL (ARRAY[cardinality(request_ids),
    cardinality(client_hashes), cardinality(arrivals), cardinality(deadlines_ms), cardinality(allotments), cardinality(terms),
    cardinality(creatives), cardinality(reserved), cardinality(budget_days), cardinality(candidates), cardinality(outbid),
    cardinality(batch_indexes), cardinality(required_sizes), cardinality(devices), cardinality(sizes), cardinality(reasons),
    cardinality(paid_ads), cardinality(are_interstitial), cardinality(edge_flags), cardinality(countries),
    cardinality(placements), cardinality(expected_values), cardinality(excluded_reasons), cardinality(excluded_counts)]))
) PARTITION BY RANGE (serve_id);

-- Compressed, and in the row: a pack is never so large that it would have to be stored apart.
DO $do$
DECLARE
  column_name name;
BEGIN
  FOR column_name IN
    SELECT attname FROM pg_attribute
    WHERE attrelid = 'ad_selection.decision_pack'::regclass AND attnum > 0 AND attlen = -1
  LOOP
    EXECUTE format('ALTER TABLE ad_selection.decision_pack ALTER COLUMN %I SET STORAGE MAIN', column_name);
  END LOOP;
END
$do$;

-- For the days that decisions have tables for.
DO $do$
DECLARE
  day record;
BEGIN
  FOR day IN
    SELECT right(c.relname, 8) AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'ad_selection.decision_row'::regclass
  LOOP
    EXECUTE format('CREATE TABLE ad_selection.%I (LIKE ad_selection.decision_pack INCLUDING CONSTRAINTS INCLUDING STORAGE)',
      'decision_pack_' || day.name);
    EXECUTE format('ALTER TABLE ad_selection.decision_pack ATTACH PARTITION ad_selection.%I %s',
      'decision_pack_' || day.name, day.bounds);
  END LOOP;
END
$do$;

-- It reads both now: made again, with a numeric column of another width.
DROP VIEW IF EXISTS ad_selection.decision CASCADE;
