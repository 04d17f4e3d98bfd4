-- How long the catalogue's history is kept.

-- Forgets at most so many versions of records that were replaced before the oldest day of decisions that there is, and a day
-- more, since a decision may follow a catalogue that is some seconds old. So every catalogue that a decision names can be put
-- together again, and each record's last version stays. Says how many went.
--
-- What replaced them is looked for, the latest first, and of each the version just before it goes: so nothing is read of
-- what is still kept. Where clocks went back there may be another one before that, for the next call: none is left when
-- none went.
CREATE OR REPLACE FUNCTION catalog.forget_history(most int) RETURNS int LANGUAGE sql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  WITH forgotten AS (
    -- By their places, which nothing changes: by their keys so many would be joined with all that there are.
    DELETE FROM catalog.history WHERE ctid = ANY (ARRAY(
      SELECT replaced.place FROM catalog.history AS later CROSS JOIN LATERAL (
        SELECT before.ctid AS place FROM catalog.history AS before
        WHERE before.key = later.key AND before.version < later.version ORDER BY before.version DESC LIMIT 1
      ) AS replaced
      WHERE later.changed_at < (
        SELECT (min(first) - 1)::timestamp AT TIME ZONE 'UTC' FROM public.day_tables('ad_selection.decision_row'))
      ORDER BY later.changed_at DESC LIMIT most))
    RETURNING 1
  )
  SELECT count(*)::int FROM forgotten
$function$;
