-- Invalid traffic (B8): gross and net are both in the reports, and what is unusual about an app's hour is flagged for a
-- person.

-- What is told and not billed, by reason and all dimensions of reports: gross = net + these.
CREATE OR REPLACE VIEW reporting.invalid_minute AS
SELECT minute, is_test, app, campaign, ad, placement, country,
  coalesce(vocabulary.ad_size_name(size), 'unknown') AS size,
  coalesce(vocabulary.device_name(device), 'unknown') AS device, vocabulary.charge_kind_name(kind) AS kind, reason,
  events
FROM (
  SELECT minute, is_test, app, campaign, ad, placement, coalesce(nullif(country, ''), 'unknown') AS country, size, device,
    vocabulary.charge_kind('impression') AS kind,
    vocabulary.click_verdict_name(vocabulary.click_verdict('impossible')) AS reason, events
  FROM impression_tracking.all_count WHERE kind = vocabulary.delivery_kind('viewedTooSoon')
  UNION ALL
  SELECT minute, is_test, app, campaign, ad, placement, country, size, device, vocabulary.charge_kind('click'),
    vocabulary.click_verdict_name(verdict), events
  FROM click_tracking.all_count
  WHERE kind = vocabulary.tap_kind('click') AND verdict <> vocabulary.click_verdict('billable')
) AS told;
COMMENT ON VIEW reporting.invalid_minute IS
  'Impressions and clicks that are not billed, by reason (B8, M4 to M7): gross figures are net ones and these.';

DO $do$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY ARRAY['minute', 'is_test', 'app', 'campaign', 'ad', 'placement', 'country', 'size', 'device'] LOOP
    EXECUTE format('COMMENT ON COLUMN reporting.invalid_minute.%I IS %L', name, 'As in reporting.minute.');
  END LOOP;
END
$do$;
COMMENT ON COLUMN reporting.invalid_minute.kind IS 'impression or click.';
COMMENT ON COLUMN reporting.invalid_minute.reason IS
  'Of impressions: impossible; of clicks: repeat, accidental, tooEarly, tooLate, limited, noImpression, impossible.';
COMMENT ON COLUMN reporting.invalid_minute.events IS 'How many.';

-- The quality of each app's traffic by minute, live and test apart: who asks from a minute on reads no older tables.
CREATE OR REPLACE VIEW reporting.traffic_quality_minute AS
SELECT app, minute, is_test,
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
  SELECT app, minute, is_test,
    CASE kind WHEN vocabulary.delivery_kind('viewed') THEN events ELSE 0 END AS views,
    CASE kind WHEN vocabulary.delivery_kind('viewedTooSoon') THEN events ELSE 0 END AS impossible_views, 0::bigint AS taps,
    NULL::smallint AS verdict
  FROM impression_tracking.all_count
  WHERE kind IN (vocabulary.delivery_kind('viewed'), vocabulary.delivery_kind('viewedTooSoon'))
  UNION ALL
  SELECT app, minute, is_test, 0, 0, events, verdict FROM click_tracking.all_count
  WHERE kind = vocabulary.tap_kind('click')
) AS told GROUP BY 1, 2, 3;
COMMENT ON VIEW reporting.traffic_quality_minute IS
  'As reporting.traffic_quality, by the minute, of older days by the hour or day; add up with sum().';

-- The same by hour.
CREATE OR REPLACE VIEW reporting.traffic_quality AS
SELECT app, date_trunc('hour', minute, 'UTC') AS hour, is_test,
  sum(gross_impressions)::bigint AS gross_impressions, sum(net_impressions)::bigint AS net_impressions,
  sum(impossible_views)::bigint AS impossible_views, sum(gross_clicks)::bigint AS gross_clicks,
  sum(net_clicks)::bigint AS net_clicks, sum(repeats)::bigint AS repeats, sum(accidental)::bigint AS accidental,
  sum(too_early)::bigint AS too_early, sum(too_late)::bigint AS too_late, sum(limited)::bigint AS limited,
  sum(without_impression)::bigint AS without_impression, sum(impossible_clicks)::bigint AS impossible_clicks
FROM reporting.traffic_quality_minute GROUP BY 1, 2, 3;
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
