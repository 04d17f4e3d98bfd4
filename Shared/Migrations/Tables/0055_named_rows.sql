-- A batch may tell of one ad that was served a day ago among thousands that were served now. Such rows are named, so that the
-- others are looked for between ids that lie close together: of each batch at most 64. Those of ad selection are all of one
-- moment, and never named.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      -- The keys of the rows that are named, and the lowest id of the others; both NULL where none is named: then all lie from
      -- first_serve_id to last_serve_id. Those are the lowest and the highest of all, named or not.
      ALTER TABLE %1$I.batch ADD COLUMN recent_serve_id uuid, ADD COLUMN named_serve_ids uuid[];
      -- As of all lists of ids (0053_spared_arrays).
      ALTER TABLE %1$I.batch ALTER COLUMN named_serve_ids SET STATISTICS 0;
    $ddl$, service);
  END LOOP;
END
$do$;
