-- What the impressions of one batch cost, many in a row: a row for each cost some 150 bytes of disk with its key, of which it
-- alone says 40. What is anything else (a click, a charge that drew on free budget, one that a person decided) stays in
-- charge_row, and so does a batch of few.
--
-- Only those of one minute lie together, so that whoever looks for a serve id knows where. The key of charge_row, by which no
-- event has two rows, does not reach in here: that none is charged twice is seen to by the order of the events that billing
-- takes, whose sequences have no gap, and compared (I7a).
CREATE TABLE billing.charge_pack (
  -- The lowest and the highest of its ids.
  serve_id uuid NOT NULL,
  last_serve_id uuid NOT NULL,
  batch_number bigint NOT NULL,
  partition int NOT NULL,
  -- Always an impression's.
  kind smallint NOT NULL,
  fate smallint NOT NULL,
  -- In the order in which they were charged; each array as the column of charge_row.
  serve_ids uuid[] NOT NULL,
  event_times timestamptz[] NOT NULL,
  terms bigint[] NOT NULL,
  allotments bigint[] NOT NULL,
  budget_days int[] NOT NULL,
  devices smallint[] NOT NULL,
  sizes smallint[] NOT NULL,
  countries text[] NOT NULL,
  placements text[] NOT NULL,
  PRIMARY KEY (serve_id, partition),
  CONSTRAINT charge_pack_is_whole CHECK (cardinality(serve_ids) = ALL (ARRAY[cardinality(event_times), cardinality(terms),
    cardinality(allotments), cardinality(budget_days), cardinality(devices), cardinality(sizes), cardinality(countries),
    cardinality(placements)]))
) PARTITION BY RANGE (serve_id);

-- Compressed, and in the row.
DO $do$
DECLARE
  column_name name;
BEGIN
  FOR column_name IN
    SELECT attname FROM pg_attribute WHERE attrelid = 'billing.charge_pack'::regclass AND attnum > 0 AND attlen = -1
  LOOP
    EXECUTE format('ALTER TABLE billing.charge_pack ALTER COLUMN %I SET STORAGE MAIN', column_name);
  END LOOP;
END
$do$;

-- For the days that charges have tables for.
DO $do$
DECLARE
  day record;
BEGIN
  FOR day IN
    SELECT right(c.relname, 8) AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'billing.charge_row'::regclass
  LOOP
    EXECUTE format('CREATE TABLE billing.%I (LIKE billing.charge_pack INCLUDING CONSTRAINTS INCLUDING STORAGE)',
      'charge_pack_' || day.name);
    EXECUTE format('ALTER TABLE billing.charge_pack ATTACH PARTITION billing.%I %s', 'charge_pack_' || day.name, day.bounds);
  END LOOP;
END
$do$;
