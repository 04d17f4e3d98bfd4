-- How many rejected records were only counted in a time is asked for by people: floods are rare, batches are many.
DO $$
DECLARE
 service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format('CREATE INDEX ON %I.batch (last_arrival) WHERE rejected_not_kept > 0', service);
  END LOOP;
END
$$;
