-- The rows of a batch are found by their keys, between the first and the last serve id that its row tells. A block range
-- index on the batch's number cost a microsecond for each row of COPY, and found nothing once partitions had come to
-- different numbers: each range of pages then holds all of them.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      -- Of the rows that the batch wrote into tables whose key begins with serve_id; null where there are none.
      ALTER TABLE %1$I.batch ADD COLUMN first_serve_id uuid, ADD COLUMN last_serve_id uuid;
      -- Earlier batches did not tell: their rows may be anywhere.
      UPDATE %1$I.batch SET first_serve_id = '00000000-0000-0000-0000-000000000000',
        last_serve_id = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    $ddl$, service);
  END LOOP;
END
$do$;

DROP INDEX ad_selection.decision_batch;
DROP INDEX impression_tracking.impression_batch;
DROP INDEX impression_tracking.delivery_batch;
DROP INDEX impression_tracking.failure_batch;
DROP INDEX click_tracking.click_batch;
DROP INDEX billing.charge_batch;

-- Failures have no serve; they are few.
CREATE INDEX failure_batch ON impression_tracking.failure (partition, batch_number);
