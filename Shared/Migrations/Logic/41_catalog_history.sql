-- How long the catalogue's history is kept.

-- Forgets at most so many versions of records that were replaced before the oldest day of decisions that there is, and a day
-- more, since a decision may follow a catalogue that is some seconds old. So every catalogue that a decision names can be put
-- together again, and each record's last version stays. Says how many went.
CREATE OR REPLACE FUNCTION catalog.forget_history(most int) RETURNS int LANGUAGE sql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  WITH kept AS (
    SELECT (min(first) - 1)::timestamp AT TIME ZONE 'UTC' AS since FROM public.day_tables('ad_selection.decision_row')
  ), forgotten AS (
    DELETE FROM catalog.history WHERE (key, version) IN (
      SELECT replaced.key, replaced.version FROM kept, catalog.history AS replaced
      WHERE EXISTS (
        SELECT FROM catalog.history AS later
        WHERE later.key = replaced.key AND later.version > replaced.version AND later.changed_at < kept.since)
      LIMIT most)
    RETURNING 1
  )
  SELECT count(*)::int FROM forgotten
$function$;
