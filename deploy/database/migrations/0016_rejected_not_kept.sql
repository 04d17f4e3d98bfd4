-- A flood of bad records adds a bounded number of rows to `rejected`; what goes beyond is counted with its batch, and its
-- reasons are among the batch's outcomes.
DO $$
DECLARE
 service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format('ALTER TABLE %I.batch ADD COLUMN rejected_not_kept bigint NOT NULL DEFAULT 0', service);
  END LOOP;
END
$$;
