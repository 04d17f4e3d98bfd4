-- What is looked up by day begins with the day, so that nothing is read of what ended long ago: the allotments that a
-- partition's owner reads, of however many campaigns that have ended, and the terms that rows of open days name.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format('CREATE INDEX terms_last_day ON %I.terms (last_day)', service);
  END LOOP;
END
$do$;
ALTER TABLE ad_selection.allotment ADD CONSTRAINT allotment_asked UNIQUE (partition, budget_day, campaign, ordinal),
  DROP CONSTRAINT allotment_partition_campaign_budget_day_ordinal_key;
