-- Every key of a table of partitions names the partition, last where it was not there: so the tables can be spread over
-- several servers by it, and look-ups by an id still go by the id. A serve id has one partition, which its token says, so that
-- nothing becomes possible twice by it.
DO $do$
DECLARE
  relation text;
  columns text;
  key name;
BEGIN
  FOR relation, columns IN VALUES
    ('ad_selection.decision_row', 'serve_id'), ('ad_selection.allotment', 'id'),
    ('impression_tracking.impression_row', 'serve_id'), ('impression_tracking.delivery_row', 'serve_id, kind'),
    ('impression_tracking.failure', 'request_id, error'),
    ('click_tracking.impression', 'serve_id'), ('click_tracking.click_row', 'serve_id, id_hash'),
    ('click_tracking.parked_row', 'serve_id, id_hash'), ('click_tracking.stopped_action', 'serve_id, kind, id_hash'),
    ('billing.allotment', 'id'), ('billing.charge_row', 'serve_id, id_hash'), ('billing.held_row', 'serve_id, id_hash')
  LOOP
    SELECT conname INTO STRICT key FROM pg_constraint WHERE conrelid = relation::regclass AND contype = 'p';
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I, ADD PRIMARY KEY (%s, partition)', relation, key, columns);
  END LOOP;
END
$do$;
-- A served ad has at most one billable click, whatever else goes wrong (M4).
DO $do$
DECLARE
  billable text := (SELECT pg_get_expr(indpred, indrelid) FROM pg_index
    WHERE indexrelid = 'click_tracking.click_billable'::regclass);
BEGIN
  DROP INDEX click_tracking.click_billable;
  EXECUTE format('CREATE UNIQUE INDEX click_billable ON click_tracking.click_row (serve_id, partition) WHERE %s', billable);
END
$do$;

-- An allotment's id begins with its partition. What the digest of the sums differed by before, it differs by after it.
DO $do$
DECLARE
  is_sealed boolean := (SELECT open_from > 'epoch' FROM sealed.head);
  before numeric := 0;
BEGIN
  IF is_sealed THEN before := sealed.digest(); END IF;
  ALTER TABLE sealed.allotment ADD COLUMN partition int;
  UPDATE sealed.allotment SET partition = (allotment >> 40)::int;
  ALTER TABLE sealed.allotment ALTER COLUMN partition SET NOT NULL, DROP CONSTRAINT allotment_pkey,
    ADD PRIMARY KEY (allotment, partition);
  IF is_sealed THEN UPDATE sealed.head SET digest = digest + sealed.digest() - before; END IF;
END
$do$;

-- Which session works for a partition's owner, and gap requests, are told by functions of this schema.
CREATE SCHEMA pipeline;
DO $do$
DECLARE
  service text;
  consumer text;
  services text[] := ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'];
BEGIN
  FOREACH service IN ARRAY services LOOP
    EXECUTE format($ddl$
      ALTER TABLE %1$I.partition RENAME COLUMN backend_pid TO session;
      -- Gap requests are numbered from 1 in each partition and topic: what was given out by one sequence stays as it is.
      ALTER TABLE %1$I.gap_request ALTER COLUMN number DROP IDENTITY, DROP CONSTRAINT missing_pkey,
        ADD PRIMARY KEY (partition, topic, number);
      DROP INDEX %1$I.missing_partition_topic_number_idx;
    $ddl$, service);
  END LOOP;
  -- Where none is left numbers begin anew: then none is answered.
  FOREACH service IN ARRAY services LOOP
    FOREACH consumer IN ARRAY services LOOP
      EXECUTE format($sql$
        DELETE FROM %I.answered_gap_request a WHERE a.consumer = %L AND NOT EXISTS (
          SELECT FROM %I.gap_request g WHERE g.partition = a.partition AND g.topic = a.topic)
      $sql$, service, consumer, consumer);
    END LOOP;
  END LOOP;
END
$do$;

-- It begins with the partition; made again, with the views that read it.
DROP VIEW IF EXISTS reporting.minute CASCADE;
