-- Upkeep in pieces: what it looks for is found without reading all that is kept, and no transaction is long.
DROP FUNCTION IF EXISTS public.forget_clients(regclass, date, int);
DROP FUNCTION IF EXISTS public.forget_record_keys(text, timestamptz);
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($sql$
      CREATE INDEX rejected_keyed ON %1$I.rejected (arrival) WHERE record_key IS NOT NULL;
      CREATE INDEX rejected_kept ON %1$I.rejected (arrival) WHERE value IS NOT NULL OR header_names IS NOT NULL;
    $sql$, service);
  END LOOP;
END
$do$;
-- Which verdicts and kinds there are is said once, by the vocabularies; tables that are there already have the checks as
-- their own.
DO $do$
DECLARE
  old record;
BEGIN
  FOR old IN
    SELECT conrelid::regclass AS path, conname FROM pg_constraint
    WHERE contype = 'c' AND conname IN ('click_verdict_check', 'stopped_action_kind_check', 'anomaly_kind_check')
    ORDER BY conrelid
  LOOP
    EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I', old.path, old.conname);
  END LOOP;
END
$do$;
