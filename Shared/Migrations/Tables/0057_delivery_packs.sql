-- That ads were drawn, of one batch, many in a row: a row for each cost 92 bytes of disk and a key of 40, and some 170 of
-- write-ahead log. What is anything else (thrown away, a failure, test traffic) stays in delivery_row, and so does a batch of few.
--
-- Only those of one second lie together, so that whoever looks for a serve id knows where. The key of delivery_row, by which
-- nothing is told twice, does not reach in here: impression tracking asks for those of which it does not know that they are
-- new, before it decides.
CREATE TABLE impression_tracking.delivery_pack (
  -- The lowest and the highest of its ids.
  serve_id uuid NOT NULL,
  last_serve_id uuid NOT NULL,
  batch_number bigint NOT NULL,
  partition int NOT NULL,
  -- Always that they were drawn.
  kind smallint NOT NULL,
  -- In the order in which they were told; each array as the column of delivery_row.
  serve_ids uuid[] NOT NULL,
  event_times timestamptz[] NOT NULL,
  terms bigint[] NOT NULL,
  devices smallint[] NOT NULL,
  sizes smallint[] NOT NULL,
  countries text[] NOT NULL,
  placements text[] NOT NULL,
  PRIMARY KEY (serve_id, partition),
  CONSTRAINT delivery_pack_is_whole CHECK (cardinality(serve_ids) = ALL (ARRAY[cardinality(event_times), cardinality(terms),
    cardinality(devices), cardinality(sizes), cardinality(countries), cardinality(placements)]))
) PARTITION BY RANGE (serve_id);

-- For the days that deliveries have tables for.
DO $do$
DECLARE
  day record;
BEGIN
  FOR day IN
    SELECT right(c.relname, 8) AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'impression_tracking.delivery_row'::regclass
  LOOP
    EXECUTE format('CREATE TABLE impression_tracking.%I (LIKE impression_tracking.delivery_pack INCLUDING CONSTRAINTS
      INCLUDING STORAGE)', 'delivery_pack_' || day.name);
    EXECUTE format('ALTER TABLE impression_tracking.delivery_pack ATTACH PARTITION impression_tracking.%I %s',
      'delivery_pack_' || day.name, day.bounds);
  END LOOP;
END
$do$;

-- Compressed, and in the row; without statistics, which no plan needs: of the days' tables too.
DO $do$
DECLARE
  column_name name;
BEGIN
  FOR column_name IN
    SELECT attname FROM pg_attribute
    WHERE attrelid = 'impression_tracking.delivery_pack'::regclass AND attnum > 0 AND attlen = -1
  LOOP
    EXECUTE format('ALTER TABLE impression_tracking.delivery_pack ALTER COLUMN %1$I SET STORAGE MAIN,
      ALTER COLUMN %1$I SET STATISTICS 0', column_name);
  END LOOP;
END
$do$;
