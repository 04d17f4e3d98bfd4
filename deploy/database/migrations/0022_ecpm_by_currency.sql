-- eCPM of each currency divides by the impressions of the ads that pay in it, not by all of the app's: with two currencies
-- each of them came out too low (M3). Every served ad has one currency, so that over all currencies each impression is
-- counted once.

CREATE OR REPLACE VIEW reporting.minute AS
SELECT minute, is_test, app, campaign, ad, placement, country, reporting.size_name(size) AS size,
  reporting.device_name(device) AS device, requests, fills, 0::bigint AS rendered, 0::bigint AS impressions,
  0::bigint AS unloaded, 0::bigint AS taps, 0::bigint AS clicks, 0::bigint AS stopped_actions,
  CASE WHEN injected_error >= 0 THEN injected_error ELSE reporting.error_of_reason(reason) END AS error,
  requests - fills AS errors, NULL::text AS currency,
  0::numeric AS gross_nanos, 0::numeric AS developer_nanos, 0::numeric AS network_nanos,
  0::bigint AS priced_impressions
FROM ad_selection.minute_count
UNION ALL
SELECT minute, is_test, app, campaign, ad, placement, coalesce(nullif(country, ''), 'unknown'),
  reporting.size_name(size), reporting.device_name(device), 0, 0, CASE kind WHEN 1 THEN events ELSE 0 END,
  CASE kind WHEN 2 THEN events ELSE 0 END, CASE kind WHEN 3 THEN events ELSE 0 END, 0, 0, 0,
  CASE WHEN kind = 4 THEN error END, CASE kind WHEN 4 THEN events ELSE 0 END, NULL, 0, 0, 0, 0
FROM impression_tracking.minute_count
UNION ALL
SELECT minute, is_test, app, campaign, ad, placement, country, reporting.size_name(size), reporting.device_name(device),
  0, 0, 0, 0, 0, CASE kind WHEN 1 THEN events ELSE 0 END, CASE WHEN kind = 1 AND verdict = 1 THEN events ELSE 0 END,
  CASE WHEN kind IN (2, 3) THEN events ELSE 0 END, NULL, 0, NULL, 0, 0, 0, 0
FROM click_tracking.minute_count
UNION ALL
SELECT minute, false, app, campaign, ad, placement, country, reporting.size_name(size), reporting.device_name(device),
  0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, currency, gross, developer_amount, network_amount,
  CASE kind WHEN 1 THEN events ELSE 0 END
FROM billing.minute_revenue;

COMMENT ON COLUMN reporting.minute.priced_impressions IS
  'Impressions of ads that pay in the row''s currency, as far as billing has taken them.';

-- The views of reports: the same, and what eCPM divides by.
DO $do$
DECLARE
  way record;
  is_test boolean;
  view_name text;
BEGIN
  FOR way IN SELECT * FROM (VALUES
    ('app', 'app', 'true'),
    ('campaign', 'campaign', $$campaign <> ''$$),
    ('ad', 'ad', $$ad <> ''$$),
    ('country', 'country', 'true'),
    ('size', 'size', 'true'),
    ('device', 'device', 'true'),
    ('placement', 'placement', 'true'),
    ('day', $$(minute AT TIME ZONE 'UTC')::date$$, 'true'),
    ('hour', $$date_trunc('hour', minute, 'UTC')$$, 'true')
  ) AS way (name, expression, condition)
  LOOP
    FOREACH is_test IN ARRAY ARRAY[false, true] LOOP
      view_name := 'by_' || way.name || CASE WHEN is_test THEN '_test' ELSE '' END;
      EXECUTE format($view$
        CREATE OR REPLACE VIEW reporting.%1$I AS
        WITH chosen AS (
          SELECT %2$s AS %3$I, requests, fills, impressions, clicks, taps, error, errors, currency, gross_nanos,
            developer_nanos, network_nanos, priced_impressions
          FROM reporting.minute WHERE is_test = %5$L AND %4$s
        ), counted AS (
          SELECT %3$I, sum(requests)::bigint AS requests, sum(fills)::bigint AS fills,
            sum(impressions)::bigint AS impressions, sum(clicks)::bigint AS clicks, sum(taps)::bigint AS taps
          FROM chosen GROUP BY %3$I
        ), earned AS (
          SELECT %3$I, currency, sum(gross_nanos) AS gross, sum(developer_nanos) AS developer,
            sum(network_nanos) AS network, sum(priced_impressions)::bigint AS priced_impressions
          FROM chosen WHERE currency IS NOT NULL GROUP BY %3$I, currency
        ), failed AS (
          SELECT %3$I, jsonb_object_agg(error, errors) AS errors
          FROM (SELECT %3$I, error, sum(errors)::bigint AS errors FROM chosen WHERE errors > 0 GROUP BY %3$I, error) AS e
          GROUP BY %3$I
        )
        SELECT %3$I, requests, fills, impressions, reporting.hundredths(100 * impressions::numeric, requests) AS fill_rate,
          clicks, reporting.hundredths(100 * clicks::numeric, impressions) AS click_through_rate, taps, currency,
          gross * 0.000000001 AS gross, developer * 0.000000001 AS developer, network * 0.000000001 AS network,
          reporting.hundredths(developer, priced_impressions * 1000000::numeric) AS ecpm,
          reporting.hundredths(gross, priced_impressions * 1000000::numeric) AS gross_ecpm,
          coalesce(failed.errors, '{}') AS errors, priced_impressions
        FROM counted LEFT JOIN earned USING (%3$I) LEFT JOIN failed USING (%3$I)
        $view$, view_name, way.expression, way.name, way.condition, is_test);
      EXECUTE format($comments$
        COMMENT ON COLUMN reporting.%1$I.priced_impressions IS
          'Impressions of ads that pay in this currency, as far as billing has taken them: what eCPM divides by.';
        COMMENT ON COLUMN reporting.%1$I.ecpm IS
          'The developer''s revenue in this currency for a thousand of priced_impressions (M3); NULL without any.';
        COMMENT ON COLUMN reporting.%1$I.gross_ecpm IS
          'What advertisers pay in this currency for a thousand of priced_impressions; NULL without any.';
      $comments$, view_name);
    END LOOP;
  END LOOP;
END
$do$;
