-- What people and dashboards read (M1 to M7, B7): views that add up the services' tables. Live traffic only, test
-- traffic in views of its own whose names end in _test (A2). Ratios are exact, in percent with two decimals rounded half
-- up; with a zero denominator they are NULL. Money is in units of the currency.

-- dividend / divisor with two decimals, a half up, exactly; NULL for a divisor of 0.
CREATE FUNCTION reporting.hundredths(dividend numeric, divisor numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN divisor > 0
    THEN ((x.value - mod(mod(x.value, 2 * divisor) + 2 * divisor, 2 * divisor)) / (2 * divisor) * 0.01)::numeric(38,2) END
  FROM (VALUES (200 * dividend + divisor)) AS x (value)
$function$;

-- The code of rules E that a request was answered with, by the reason of its decision; NULL where an ad was served.
CREATE FUNCTION reporting.error_of_reason(reason smallint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE
    WHEN reason IN (1, 2, 3) THEN NULL
    WHEN reason IN (5, 38) THEN 1
    WHEN reason IN (36, 37) THEN 2
    WHEN reason BETWEEN 32 AND 35 OR reason = 39 THEN 3
    WHEN reason BETWEEN 16 AND 23 THEN 4
    ELSE 0
  END::smallint
$function$;

CREATE FUNCTION reporting.device_name(device smallint) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE device WHEN 1 THEN 'phone' WHEN 2 THEN 'pad' ELSE 'unknown' END
$function$;

-- The sizes of rules S1 to S7 by their points; a test compares them with the program's table.
CREATE FUNCTION reporting.size_name(size smallint) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE size WHEN 1 THEN '320x50' WHEN 2 THEN '480x32' WHEN 3 THEN '768x66' WHEN 4 THEN '1024x66'
    WHEN 5 THEN '300x250' WHEN 6 THEN '768x1024' WHEN 7 THEN '1024x768' ELSE 'unknown' END
$function$;

-- Everything that is counted, per minute: each row counts one kind of thing, the others being 0. The views below, the
-- console and the command add it up.
CREATE VIEW reporting.minute AS
SELECT minute, is_test, app, campaign, ad, placement, country, reporting.size_name(size) AS size,
  reporting.device_name(device) AS device, requests, fills, 0::bigint AS rendered, 0::bigint AS impressions,
  0::bigint AS unloaded, 0::bigint AS taps, 0::bigint AS clicks, 0::bigint AS stopped_actions,
  reporting.error_of_reason(reason) AS error, requests - fills AS errors, NULL::text AS currency,
  0::numeric AS gross_nanos, 0::numeric AS developer_nanos, 0::numeric AS network_nanos
FROM ad_selection.minute_count
UNION ALL
SELECT minute, is_test, app, campaign, ad, placement, coalesce(nullif(country, ''), 'unknown'),
  reporting.size_name(size), reporting.device_name(device), 0, 0, CASE kind WHEN 1 THEN events ELSE 0 END,
  CASE kind WHEN 2 THEN events ELSE 0 END, CASE kind WHEN 3 THEN events ELSE 0 END, 0, 0, 0,
  CASE WHEN kind = 4 THEN error END, CASE kind WHEN 4 THEN events ELSE 0 END, NULL, 0, 0, 0
FROM impression_tracking.minute_count
UNION ALL
SELECT minute, is_test, app, campaign, ad, placement, country, reporting.size_name(size), reporting.device_name(device),
  0, 0, 0, 0, 0, CASE kind WHEN 1 THEN events ELSE 0 END, CASE WHEN kind = 1 AND verdict = 1 THEN events ELSE 0 END,
  CASE WHEN kind IN (2, 3) THEN events ELSE 0 END, NULL, 0, NULL, 0, 0, 0
FROM click_tracking.minute_count
UNION ALL
SELECT minute, false, app, campaign, ad, placement, country, reporting.size_name(size), reporting.device_name(device),
  0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, currency, gross, developer_amount, network_amount
FROM billing.minute_revenue;

COMMENT ON VIEW reporting.minute IS
  'All that is counted, per minute; each row counts one kind of thing. Add up with sum().';
COMMENT ON COLUMN reporting.minute.minute IS
  'Start of the minute, UTC: of a request its arrival, of everything else the event''s own time.';
COMMENT ON COLUMN reporting.minute.is_test IS 'Test traffic (A2): never billed, never in the live views.';
COMMENT ON COLUMN reporting.minute.app IS 'The app''s id.';
COMMENT ON COLUMN reporting.minute.campaign IS 'The campaign''s id; empty for a request that got no ad.';
COMMENT ON COLUMN reporting.minute.ad IS 'The ad''s id; empty for a request that got no ad.';
COMMENT ON COLUMN reporting.minute.placement IS 'The name that the app gives the banner or interstitial.';
COMMENT ON COLUMN reporting.minute.country IS 'ISO 3166 code of two letters, or unknown.';
COMMENT ON COLUMN reporting.minute.size IS 'The current size in points, such as 320x50, or unknown.';
COMMENT ON COLUMN reporting.minute.device IS 'phone, pad or unknown.';
COMMENT ON COLUMN reporting.minute.requests IS 'Requests for an ad, refused ones too, each counted once (M1).';
COMMENT ON COLUMN reporting.minute.fills IS 'Requests that were answered with an ad.';
COMMENT ON COLUMN reporting.minute.rendered IS 'Ads that began to be drawn.';
COMMENT ON COLUMN reporting.minute.impressions IS 'Ads seen: at most one for each fill (M1, M4).';
COMMENT ON COLUMN reporting.minute.unloaded IS 'Ads whose content was unloaded (D5).';
COMMENT ON COLUMN reporting.minute.taps IS 'All taps whose action began, free ones too.';
COMMENT ON COLUMN reporting.minute.clicks IS 'Taps that count: at most one for each impression, none accidental (M2, M4, M7).';
COMMENT ON COLUMN reporting.minute.stopped_actions IS 'Actions that the app blocked or cancelled (A7, D7, D9).';
COMMENT ON COLUMN reporting.minute.error IS 'Code of rules E; NULL where there was none.';
COMMENT ON COLUMN reporting.minute.errors IS 'How often that error was answered by the network or told by a device.';
COMMENT ON COLUMN reporting.minute.currency IS 'ISO 4217 code of the money in the row; NULL where there is none.';
COMMENT ON COLUMN reporting.minute.gross_nanos IS 'What advertisers pay, in 10^-9 of the currency''s unit.';
COMMENT ON COLUMN reporting.minute.developer_nanos IS 'The app developer''s part, in 10^-9 of the unit (B2).';
COMMENT ON COLUMN reporting.minute.network_nanos IS
  'The network''s part, in 10^-9 of the unit; below 0 where it bears what no budget could pay.';

-- One view for each way of looking (M6), and its twin of test traffic.
DO $do$
DECLARE
  way record;
  is_test boolean;
  view_name text;
BEGIN
  FOR way IN SELECT * FROM (VALUES
    ('app', 'app', 'true', 'The app''s id.'),
    ('campaign', 'campaign', $$campaign <> ''$$, 'The campaign''s id. Requests are those that got an ad of it.'),
    ('ad', 'ad', $$ad <> ''$$, 'The ad''s id. Requests are those that got this ad.'),
    ('country', 'country', 'true', 'ISO 3166 code of two letters, or unknown.'),
    ('size', 'size', 'true', 'The current size in points, or unknown.'),
    ('device', 'device', 'true', 'phone, pad or unknown.'),
    ('placement', 'placement', 'true', 'The name that the app gives the banner or interstitial.'),
    ('day', $$(minute AT TIME ZONE 'UTC')::date$$, 'true', 'Day in UTC.'),
    ('hour', $$date_trunc('hour', minute, 'UTC')$$, 'true', 'Start of the hour, UTC.')
  ) AS way (name, expression, condition, help)
  LOOP
    FOREACH is_test IN ARRAY ARRAY[false, true] LOOP
      view_name := 'by_' || way.name || CASE WHEN is_test THEN '_test' ELSE '' END;
      EXECUTE format($view$
        CREATE VIEW reporting.%1$I AS
        WITH chosen AS (
          SELECT %2$s AS %3$I, requests, fills, impressions, clicks, taps, error, errors, currency, gross_nanos,
            developer_nanos, network_nanos
          FROM reporting.minute WHERE is_test = %5$L AND %4$s
        ), counted AS (
          SELECT %3$I, sum(requests)::bigint AS requests, sum(fills)::bigint AS fills,
            sum(impressions)::bigint AS impressions, sum(clicks)::bigint AS clicks, sum(taps)::bigint AS taps
          FROM chosen GROUP BY %3$I
        ), earned AS (
          SELECT %3$I, currency, sum(gross_nanos) AS gross, sum(developer_nanos) AS developer,
            sum(network_nanos) AS network
          FROM chosen WHERE currency IS NOT NULL GROUP BY %3$I, currency
        ), failed AS (
          SELECT %3$I, jsonb_object_agg(error, errors) AS errors
          FROM (SELECT %3$I, error, sum(errors)::bigint AS errors FROM chosen WHERE errors > 0 GROUP BY %3$I, error) AS e
          GROUP BY %3$I
        )
        SELECT %3$I, requests, fills, impressions, reporting.hundredths(100 * impressions::numeric, requests) AS fill_rate,
          clicks, reporting.hundredths(100 * clicks::numeric, impressions) AS click_through_rate, taps, currency,
          gross * 0.000000001 AS gross, developer * 0.000000001 AS developer, network * 0.000000001 AS network,
          reporting.hundredths(developer, impressions * 1000000::numeric) AS ecpm,
          reporting.hundredths(gross, impressions * 1000000::numeric) AS gross_ecpm,
          coalesce(failed.errors, '{}') AS errors
        FROM counted LEFT JOIN earned USING (%3$I) LEFT JOIN failed USING (%3$I)
        $view$, view_name, way.expression, way.name, way.condition, is_test);
      EXECUTE format('COMMENT ON VIEW reporting.%I IS %L', view_name,
        CASE WHEN is_test THEN 'Test' ELSE 'Live' END || ' traffic per ' || way.name
          || '. With money in several currencies there is a row for each, and the counts stand in each of them.');
      EXECUTE format('COMMENT ON COLUMN reporting.%I.%I IS %L', view_name, way.name, way.help);
      EXECUTE format($comments$
        COMMENT ON COLUMN reporting.%1$I.requests IS 'Requests for an ad, refused ones too, each counted once (M1).';
        COMMENT ON COLUMN reporting.%1$I.fills IS 'Requests that were answered with an ad.';
        COMMENT ON COLUMN reporting.%1$I.impressions IS 'Ads seen (M1, M4).';
        COMMENT ON COLUMN reporting.%1$I.fill_rate IS 'Impressions per request in percent (M1); NULL without requests.';
        COMMENT ON COLUMN reporting.%1$I.clicks IS 'Taps that count (M2, M4, M7).';
        COMMENT ON COLUMN reporting.%1$I.click_through_rate IS
          'Clicks per impression in percent (M2); NULL without impressions.';
        COMMENT ON COLUMN reporting.%1$I.taps IS 'All taps whose action began, free ones too.';
        COMMENT ON COLUMN reporting.%1$I.currency IS 'ISO 4217 code of the money; NULL where there is none.';
        COMMENT ON COLUMN reporting.%1$I.gross IS 'What advertisers pay, in units of the currency.';
        COMMENT ON COLUMN reporting.%1$I.developer IS 'The app developer''s part, in units of the currency (B2).';
        COMMENT ON COLUMN reporting.%1$I.network IS
          'The network''s part, in units; below 0 where it bears what no budget could pay.';
        COMMENT ON COLUMN reporting.%1$I.ecpm IS
          'The developer''s revenue for a thousand impressions (M3); NULL without impressions.';
        COMMENT ON COLUMN reporting.%1$I.gross_ecpm IS
          'What advertisers pay for a thousand impressions; NULL without impressions.';
        COMMENT ON COLUMN reporting.%1$I.errors IS 'How often each error code of rules E occurred.';
      $comments$, view_name);
    END LOOP;
  END LOOP;
END
$do$;

-- What is paid and invoiced (B7): by developer and by advertiser, per currency and month.
CREATE VIEW reporting.developer_month AS
SELECT developer, currency, (date_trunc('month', minute, 'UTC') AT TIME ZONE 'UTC')::date AS month,
  sum(developer_amount) * 0.000000001 AS amount
FROM billing.minute_revenue GROUP BY 1, 2, 3;
COMMENT ON VIEW reporting.developer_month IS 'What each app developer earned, per currency and month (B7).';
COMMENT ON COLUMN reporting.developer_month.developer IS 'The developer''s id.';
COMMENT ON COLUMN reporting.developer_month.currency IS 'ISO 4217 code.';
COMMENT ON COLUMN reporting.developer_month.month IS 'First day of the month, UTC.';
COMMENT ON COLUMN reporting.developer_month.amount IS 'Earned, in units of the currency.';

CREATE VIEW reporting.advertiser_month AS
SELECT advertiser, campaign, currency, (date_trunc('month', minute, 'UTC') AT TIME ZONE 'UTC')::date AS month,
  sum(CASE WHEN kind = 1 AND fate = 1 THEN events ELSE 0 END)::bigint AS impressions,
  sum(CASE WHEN kind = 2 AND fate = 1 THEN events ELSE 0 END)::bigint AS clicks, sum(gross) * 0.000000001 AS amount
FROM billing.minute_revenue GROUP BY 1, 2, 3, 4;
COMMENT ON VIEW reporting.advertiser_month IS 'What each campaign of an advertiser cost, per currency and month (B7).';
COMMENT ON COLUMN reporting.advertiser_month.advertiser IS 'The advertiser''s id.';
COMMENT ON COLUMN reporting.advertiser_month.campaign IS 'The campaign''s id.';
COMMENT ON COLUMN reporting.advertiser_month.currency IS 'ISO 4217 code.';
COMMENT ON COLUMN reporting.advertiser_month.month IS 'First day of the month, UTC.';
COMMENT ON COLUMN reporting.advertiser_month.impressions IS 'Impressions charged.';
COMMENT ON COLUMN reporting.advertiser_month.clicks IS 'Clicks charged.';
COMMENT ON COLUMN reporting.advertiser_month.amount IS 'Charged, in units of the currency.';

-- Up to when the figures are complete: what arrived before is decided. The least of all partitions counts.
CREATE VIEW reporting.completeness AS
SELECT figures, count(*)::int AS partitions, nullif(min(complete_until), 'epoch') AS complete_until FROM (
  SELECT 'impressions' AS figures, watermark AS complete_until FROM impression_tracking.partition
  UNION ALL SELECT 'clicks', watermark FROM click_tracking.partition
  UNION ALL SELECT 'revenue', taken_watermark FROM billing.input
    WHERE topic IN ('ads.impressions.accepted', 'ads.clicks.accepted')
) AS partitions GROUP BY figures;
COMMENT ON VIEW reporting.completeness IS 'Up to when the figures of reports are complete.';
COMMENT ON COLUMN reporting.completeness.figures IS 'impressions, clicks or revenue.';
COMMENT ON COLUMN reporting.completeness.partitions IS 'Partitions (for revenue: of both inputs) that it counts.';
COMMENT ON COLUMN reporting.completeness.complete_until IS
  'Everything that arrived before is in the figures; NULL while a partition has not told.';

-- The console reads everything and writes nothing, whatever is granted later by mistake.
DO $do$
DECLARE
  schema_name text;
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    CREATE ROLE handbill_console NOLOGIN;
    EXECUTE format('GRANT handbill_console TO %I', current_user);
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN
    RAISE NOTICE 'role handbill_console was made by somebody else just now';
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'no right to make role handbill_console; an administrator may do it later';
END
$do$;

DO $do$
DECLARE
  schema_name text;
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_reporting') THEN
    GRANT SELECT ON ALL TABLES IN SCHEMA reporting TO handbill_reporting;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    FOREACH schema_name IN ARRAY
      ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing', 'catalog', 'reporting']
    LOOP
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO handbill_console', schema_name);
      EXECUTE format('GRANT SELECT ON ALL TABLES IN SCHEMA %I TO handbill_console', schema_name);
      EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT ON TABLES TO handbill_console', schema_name);
    END LOOP;
  END IF;
END
$do$;
