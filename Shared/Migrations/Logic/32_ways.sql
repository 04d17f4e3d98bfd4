-- One view for each way of looking (M6), and its twin of test traffic.
DO $do$
DECLARE
  way record;
  is_test boolean;
  view_name text;
BEGIN
  FOR way IN SELECT * FROM (VALUES
    ('app', 'app', 'value', 'true', 'The app''s id.'),
    ('campaign', 'campaign', 'value', $$value <> ''$$, 'The campaign''s id. Requests are those that got an ad of it.'),
    ('ad', 'ad', 'value', $$value <> ''$$, 'The ad''s id. Requests are those that got this ad.'),
    ('country', 'country', 'value', 'true', 'ISO 3166 code of two letters, or unknown.'),
    ('size', 'size', 'value', 'true', 'The current size in points, or unknown.'),
    ('device', 'device', 'value', 'true', 'phone, pad or unknown.'),
    ('placement', 'placement', 'value', 'true', 'The name that the app gives the banner or interstitial.'),
    ('day', 'all', $$(hour AT TIME ZONE 'UTC')::date$$, 'true', 'Day in UTC.'),
    ('hour', 'all', 'hour', 'true', 'Start of the hour, UTC.')
  ) AS way (name, dimension, expression, condition, help)
  LOOP
    FOREACH is_test IN ARRAY ARRAY[false, true] LOOP
      view_name := 'by_' || way.name || CASE WHEN is_test THEN '_test' ELSE '' END;
      EXECUTE format($view$
        CREATE OR REPLACE VIEW reporting.%1$I AS
        WITH chosen AS (
          SELECT %2$s AS %3$I, requests, fills, impressions, clicks, taps, error, errors, currency, gross_nanos,
            developer_nanos, network_nanos, priced_impressions
          FROM reporting.by_dimension WHERE dimension = %6$L AND is_test = %5$L AND %4$s
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
        $view$, view_name, way.expression, way.name, way.condition, is_test, way.dimension);
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
          'The developer''s revenue in this currency for a thousand of priced_impressions (M3); NULL without any.';
        COMMENT ON COLUMN reporting.%1$I.gross_ecpm IS
          'What advertisers pay in this currency for a thousand of priced_impressions; NULL without any.';
        COMMENT ON COLUMN reporting.%1$I.errors IS 'How often each error (rules E) occurred, by its name.';
        COMMENT ON COLUMN reporting.%1$I.priced_impressions IS
          'Impressions of campaigns in this currency, house ads too, as far as billing has taken them: what eCPM divides by.';
      $comments$, view_name);
    END LOOP;
  END LOOP;
END
$do$;
