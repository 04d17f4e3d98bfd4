-- What apps are offered for what they let become of ads' actions (A7).

-- Of each app with stopped actions since a day: by day, how many ads had their action blocked or cancelled, each once by the
-- first that was told of it, and how many were tapped. An ad that was tapped to count and then cancelled is one of both. Live
-- traffic only.
CREATE OR REPLACE FUNCTION catalog.action_days(since date)
RETURNS TABLE (app text, day date, stopped bigint, tapped bigint) LANGUAGE sql STABLE AS $function$
  WITH stopped AS MATERIALIZED (
    SELECT s.app, s.serve_id, s.partition, (min(s.event_time) AT TIME ZONE 'UTC')::date AS day
    -- An event may be told of an ad that was served on the day before it.
    FROM click_tracking.stopped_action s WHERE NOT s.is_test AND s.serve_id >= public.first_uuid_of_day(since - 2)
    GROUP BY s.app, s.serve_id, s.partition
  ), told AS (
    SELECT s.app, s.day, 1::bigint AS stopped, (NOT EXISTS (
      SELECT FROM click_tracking.click_row c WHERE c.serve_id = s.serve_id AND c.partition = s.partition
        -- As theirs: no click of a day before is read for it.
        AND c.serve_id >= public.first_uuid_of_day(since - 2)
        AND c.verdict = vocabulary.click_verdict('billable')))::int::bigint AS tapped
    FROM stopped s
    UNION ALL
    SELECT c.value, (c.hour AT TIME ZONE 'UTC')::date, 0, c.events FROM click_tracking.count_by_dimension c
    WHERE c.dimension = 'app' AND NOT c.is_test AND c.hour >= since::timestamp AT TIME ZONE 'UTC'
      AND c.kind = vocabulary.tap_kind('click') AND c.verdict = vocabulary.click_verdict('billable')
      AND c.value IN (SELECT s.app FROM stopped s)
  )
  SELECT t.app, t.day, sum(t.stopped)::bigint, sum(t.tapped)::bigint FROM told t WHERE t.day >= since GROUP BY 1, 2
$function$;

-- Writes the standings of apps, and takes out those of others: nothing else of the catalogue. Only apps that there are have
-- one. Says how many were written or taken out.
CREATE OR REPLACE FUNCTION catalog.set_standings(apps text[], bodies jsonb[], gone text[]) RETURNS int LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  changed text[];
BEGIN
  -- As every change of the catalogue does (LockCatalog).
  PERFORM pg_advisory_xact_lock(hashtext('catalog.record'));
  WITH written AS (
    INSERT INTO catalog.record AS stored (key, kind, body, version, change_number)
    SELECT 'standing/' || told.app, 'standing', told.body, (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
      nextval('catalog.change_number')
    FROM unnest(apps, bodies) AS told (app, body)
    WHERE EXISTS (SELECT FROM catalog.record r WHERE r.key = 'app/' || told.app AND r.deleted_at IS NULL)
    ON CONFLICT (key) DO UPDATE SET body = excluded.body, version = greatest(stored.version + 1, excluded.version),
      change_number = excluded.change_number, changed_at = now(), deleted_at = NULL
    RETURNING stored.key
  ), taken AS (
    UPDATE catalog.record r SET version = greatest(r.version + 1, (extract(epoch FROM clock_timestamp()) * 1000)::bigint),
      change_number = nextval('catalog.change_number'), changed_at = now(), deleted_at = now()
    FROM unnest(gone) AS told (app) WHERE r.key = 'standing/' || told.app AND r.deleted_at IS NULL
    RETURNING r.key
  )
  SELECT array_agg(key) INTO changed FROM (SELECT key FROM written UNION ALL SELECT key FROM taken) AS keys;
  INSERT INTO catalog.history (key, version, body, is_deleted, change_number)
  SELECT r.key, r.version, r.body, r.deleted_at IS NOT NULL, r.change_number FROM catalog.record r
  WHERE r.key = ANY (changed);
  RETURN coalesce(cardinality(changed), 0);
END
$function$;

CREATE OR REPLACE VIEW reporting.app_standing AS
SELECT body ->> 'app' AS app, ((body ->> 'offerPartsPerMillion')::numeric / 10000)::numeric(5,2) AS offered_percent,
  (body ->> 'stopped')::bigint AS stopped, (body ->> 'tapped')::bigint AS tapped, changed_at AS since
FROM catalog.record WHERE kind = 'standing' AND deleted_at IS NULL;
COMMENT ON VIEW reporting.app_standing IS
  'Apps that are offered less for the ads'' actions that they block or cancel (A7). Those that are not here are offered '
  'everything.';
COMMENT ON COLUMN reporting.app_standing.app IS 'The app''s id.';
COMMENT ON COLUMN reporting.app_standing.offered_percent IS
  'Of a hundred requests so many may get a paid ad.';
COMMENT ON COLUMN reporting.app_standing.stopped IS
  'Ads whose action was blocked or cancelled, each once, over the days that count.';
COMMENT ON COLUMN reporting.app_standing.tapped IS 'Ads that were tapped, each once, over the same days; those among them.';
COMMENT ON COLUMN reporting.app_standing.since IS 'Since when the offer is so.';
