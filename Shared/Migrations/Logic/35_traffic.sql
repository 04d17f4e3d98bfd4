-- Invalid traffic (B8): gross and net are both in the reports, and what is unusual about an app's hour is flagged for a
-- person.

-- What is told and not billed, by reason and all dimensions of reports: gross = net + these.
DO $do$
DECLARE
  source record;
BEGIN
  FOR source IN
    SELECT 'invalid_minute' AS name, 'all_count' AS counts,
      'minute, is_test, app, campaign, ad, placement, %s AS country, size, device' AS columns, 'country' AS country,
      $$coalesce(nullif(country, ''), 'unknown')$$ AS known_country,
      $$minute, is_test, app, campaign, ad, placement, country,
        coalesce(vocabulary.ad_size_name(size), 'unknown') AS size,
        coalesce(vocabulary.device_name(device), 'unknown') AS device$$ AS shown
    UNION ALL
    SELECT 'invalid_by_dimension', 'count_by_dimension', 'hour, dimension, is_test, %s AS value', 'value',
      $$CASE dimension WHEN 'country' THEN coalesce(nullif(value, ''), 'unknown') ELSE value END$$,
      $$hour, dimension, is_test, reporting.shown_value(dimension, value) AS value$$
  LOOP
    EXECUTE format($view$
      CREATE OR REPLACE VIEW reporting.%1$I AS
      SELECT %2$s, vocabulary.charge_kind_name(kind) AS kind, reason, events
      FROM (
        SELECT %3$s, vocabulary.charge_kind('impression') AS kind,
          vocabulary.click_verdict_name(vocabulary.click_verdict('impossible')) AS reason, events
        FROM impression_tracking.%5$I WHERE kind = vocabulary.delivery_kind('viewedTooSoon')
        UNION ALL
        SELECT %4$s, vocabulary.charge_kind('click'), vocabulary.click_verdict_name(verdict), events
        FROM click_tracking.%5$I
        WHERE kind = vocabulary.tap_kind('click') AND verdict <> vocabulary.click_verdict('billable')
      ) AS told
    $view$, source.name, source.shown, format(source.columns, source.known_country),
      format(source.columns, source.country), source.counts);
  END LOOP;
END
$do$;
COMMENT ON VIEW reporting.invalid_minute IS
  'Impressions and clicks that are not billed, by reason (B8, M4 to M7): gross figures are net ones and these.';

DO $do$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['minute', 'is_test', 'app', 'campaign', 'ad', 'placement', 'country', 'size', 'device'] LOOP
    EXECUTE format('COMMENT ON COLUMN reporting.invalid_minute.%I IS %L', name, 'As in reporting.minute.');
  END LOOP;
  FOREACH name IN ARRAY ARRAY['hour', 'dimension', 'is_test', 'value'] LOOP
    EXECUTE format('COMMENT ON COLUMN reporting.invalid_by_dimension.%I IS %L', name, 'As in reporting.by_dimension.');
  END LOOP;
  FOREACH name IN ARRAY ARRAY['invalid_minute', 'invalid_by_dimension'] LOOP
    EXECUTE format('COMMENT ON COLUMN reporting.%I.kind IS %L', name, 'impression or click.');
    EXECUTE format('COMMENT ON COLUMN reporting.%I.reason IS %L', name,
      'Of impressions: impossible; of clicks: repeat, accidental, tooEarly, tooLate, limited, noImpression, impossible.');
    EXECUTE format('COMMENT ON COLUMN reporting.%I.events IS %L', name, 'How many.');
  END LOOP;
END
$do$;
COMMENT ON VIEW reporting.invalid_by_dimension IS
  'As reporting.invalid_minute, by one dimension and the hour, of old ones the day. Choose one dimension; add up with sum().';

-- The quality of each app's traffic, live and test apart, by the minute and by the hour: who asks from a time on reads no older
-- ones.
DO $do$
DECLARE
  source record;
BEGIN
  FOR source IN VALUES ('traffic_quality_minute', 'app', 'minute', 'all_count', 'true'),
    ('traffic_quality', 'value', 'hour', 'count_by_dimension', $$dimension = 'app'$$)
  LOOP
    EXECUTE format($view$
      CREATE OR REPLACE VIEW reporting.%1$I AS
      SELECT %2$s AS app, %3$s, is_test,
        sum(views + impossible_views)::bigint AS gross_impressions, sum(views)::bigint AS net_impressions,
        sum(impossible_views)::bigint AS impossible_views, sum(taps)::bigint AS gross_clicks,
        sum(CASE verdict WHEN vocabulary.click_verdict('billable') THEN taps ELSE 0 END)::bigint AS net_clicks,
        sum(CASE verdict WHEN vocabulary.click_verdict('repeat') THEN taps ELSE 0 END)::bigint AS repeats,
        sum(CASE verdict WHEN vocabulary.click_verdict('accidental') THEN taps ELSE 0 END)::bigint AS accidental,
        sum(CASE verdict WHEN vocabulary.click_verdict('tooEarly') THEN taps ELSE 0 END)::bigint AS too_early,
        sum(CASE verdict WHEN vocabulary.click_verdict('tooLate') THEN taps ELSE 0 END)::bigint AS too_late,
        sum(CASE verdict WHEN vocabulary.click_verdict('limited') THEN taps ELSE 0 END)::bigint AS limited,
        sum(CASE verdict WHEN vocabulary.click_verdict('noImpression') THEN taps ELSE 0 END)::bigint AS without_impression,
        sum(CASE verdict WHEN vocabulary.click_verdict('impossible') THEN taps ELSE 0 END)::bigint AS impossible_clicks
      FROM (
        SELECT %2$s, %3$s, is_test,
          CASE kind WHEN vocabulary.delivery_kind('viewed') THEN events ELSE 0 END AS views,
          CASE kind WHEN vocabulary.delivery_kind('viewedTooSoon') THEN events ELSE 0 END AS impossible_views, 0::bigint AS taps,
          NULL::smallint AS verdict
        FROM impression_tracking.%4$I
        WHERE %5$s AND kind IN (vocabulary.delivery_kind('viewed'), vocabulary.delivery_kind('viewedTooSoon'))
        UNION ALL
        SELECT %2$s, %3$s, is_test, 0, 0, events, verdict FROM click_tracking.%4$I
        WHERE %5$s AND kind = vocabulary.tap_kind('click')
      ) AS told GROUP BY 1, 2, 3
    $view$, source.column1, source.column2, source.column3, source.column4, source.column5);
  END LOOP;
END
$do$;
COMMENT ON VIEW reporting.traffic_quality_minute IS
  'As reporting.traffic_quality, by the minute, of older days by the hour or day; add up with sum().';

COMMENT ON VIEW reporting.traffic_quality IS
  'Gross and net impressions and clicks of each app by hour, and why clicks are not billed. Gross is all that was told '
  'and understood, each thing once; net is what counts.';
COMMENT ON COLUMN reporting.traffic_quality.app IS 'The app''s id.';
COMMENT ON COLUMN reporting.traffic_quality.hour IS 'Start of the hour, UTC, of the events'' times.';
COMMENT ON COLUMN reporting.traffic_quality.is_test IS 'Whether it is test traffic (A2).';
COMMENT ON COLUMN reporting.traffic_quality.gross_impressions IS 'All impressions that were told, each once.';
COMMENT ON COLUMN reporting.traffic_quality.net_impressions IS 'Impressions that count (M1, M4).';
COMMENT ON COLUMN reporting.traffic_quality.gross_clicks IS 'All taps whose action began, free ones too.';
COMMENT ON COLUMN reporting.traffic_quality.net_clicks IS 'Taps that count (M2, M4, M7).';
COMMENT ON COLUMN reporting.traffic_quality.impossible_views IS 'Told to be seen sooner than can be (B8).';
COMMENT ON COLUMN reporting.traffic_quality.repeats IS 'Further taps on the same ad (M4).';
COMMENT ON COLUMN reporting.traffic_quality.accidental IS 'The action was over within 2 s without leaving (M7).';
COMMENT ON COLUMN reporting.traffic_quality.too_early IS 'Less than 100 ms after the impression.';
COMMENT ON COLUMN reporting.traffic_quality.too_late IS 'More than 1 h after the impression.';
COMMENT ON COLUMN reporting.traffic_quality.limited IS 'Beyond the client''s click limits.';
COMMENT ON COLUMN reporting.traffic_quality.without_impression IS 'No impression came for it (M5).';
COMMENT ON COLUMN reporting.traffic_quality.impossible_clicks IS 'Before the ad was on screen (B8).';
COMMENT ON COLUMN reporting.traffic_quality_minute.minute IS 'As in reporting.minute, of the events'' times.';

DO $do$
DECLARE
  same record;
BEGIN
  FOR same IN
    SELECT attname, col_description(attrelid, attnum) AS meaning FROM pg_attribute
    WHERE attrelid = 'reporting.traffic_quality'::regclass AND attnum > 0 AND attname <> 'hour'
  LOOP
    EXECUTE format('COMMENT ON COLUMN reporting.traffic_quality_minute.%I IS %L', same.attname, same.meaning);
  END LOOP;
END
$do$;

CREATE OR REPLACE VIEW reporting.anomaly AS
SELECT app, hour,
  vocabulary.anomaly_kind_name(kind) AS kind,
  events, of_events, reporting.hundredths(100 * events::numeric, of_events) AS percent,
  (limit_basis_points * 0.01)::numeric(38,2) AS limit_percent, found_at
FROM console.anomaly;
COMMENT ON VIEW reporting.anomaly IS
  'Hours of live traffic in which something about an app went beyond its limit: for a person to look at.';
COMMENT ON COLUMN reporting.anomaly.app IS 'The app''s id.';
COMMENT ON COLUMN reporting.anomaly.hour IS 'Start of the hour, UTC.';
COMMENT ON COLUMN reporting.anomaly.events IS 'How many events the flag is about.';
COMMENT ON COLUMN reporting.anomaly.of_events IS 'Of how many.';
COMMENT ON COLUMN reporting.anomaly.found_at IS 'When the console first saw it.';
COMMENT ON COLUMN reporting.anomaly.kind IS
  'clickRate: net clicks of net impressions; repeats, tooEarly, accidental, limited: of gross clicks; impossible: views '
  'and clicks that cannot be, of all that were told.';
COMMENT ON COLUMN reporting.anomaly.percent IS 'The share, in percent.';
COMMENT ON COLUMN reporting.anomaly.limit_percent IS 'The limit, in percent.';

-- Those that count for no app.
CREATE OR REPLACE VIEW reporting.requests_without_app_key AS
SELECT day,
  vocabulary.decision_reason_name(reason) AS reason,
  sum(requests)::bigint AS requests
FROM ad_selection.keyless_count GROUP BY keyless_count.day, keyless_count.reason;
COMMENT ON VIEW reporting.requests_without_app_key IS
  'Requests that came without the key of the app they name: they count for no app and stand in no other view (M1, A1).';
COMMENT ON COLUMN reporting.requests_without_app_key.day IS 'Day in UTC on which they were refused.';
COMMENT ON COLUMN reporting.requests_without_app_key.reason IS
  'unknownKey, revokedKey, keyOfAnotherApp; keyNotYetKnown: the catalogue was not complete; keylessBeyondLimit: more came '
  'than are answered and kept.';
COMMENT ON COLUMN reporting.requests_without_app_key.requests IS 'How many.';

-- Forgets at most so many flags of hours before the oldest day of decisions that there is. Says how many went.
CREATE OR REPLACE FUNCTION console.forget_anomalies(most int) RETURNS int LANGUAGE sql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
  WITH forgotten AS (
    DELETE FROM console.anomaly WHERE (hour, app, kind) IN (
      SELECT hour, app, kind FROM console.anomaly
      WHERE hour < (SELECT min(first)::timestamp AT TIME ZONE 'UTC' FROM public.day_tables('ad_selection.decision_row'))
      ORDER BY hour LIMIT most)
    RETURNING 1
  )
  SELECT count(*)::int FROM forgotten
$function$;
