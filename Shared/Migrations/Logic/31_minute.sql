-- What people and dashboards read (M1 to M7, B7): views that add up the services' tables. Live traffic only, test
-- traffic in views of its own whose names end in _test (A2). Ratios are exact, in percent with two decimals rounded
-- half up; with a zero denominator they are NULL. Money is in units of the currency.

-- Everything that is counted, by all dimensions and the minute, of older days the hour or day; and by one dimension each and
-- the hour, of old ones the day. Each row counts one kind of thing, the others being 0. The views below, the console and the
-- command add it up. A request is counted whatever its fate. eCPM of each currency divides by the
-- impressions of its campaigns, house ads too: every served ad has one currency, so that over all currencies each impression
-- is counted once.

-- A dimension's value, as people read it. Its body is read when it is made: who reads reports may not look for vocabularies.
CREATE OR REPLACE FUNCTION reporting.shown_value(dimension text, value text) RETURNS text LANGUAGE sql STABLE
RETURN CASE dimension WHEN 'size' THEN coalesce(vocabulary.ad_size_name(value::smallint), 'unknown')
  WHEN 'device' THEN coalesce(vocabulary.device_name(value::smallint), 'unknown') ELSE value END;

-- A query of all that is counted, one kind of thing in each row: `shown` of the columns that say of what, which are `own` ones of
-- the tables, `known` ones of impressions, whose country may be empty, and `billed` ones of revenue, which is never of tests.
CREATE OR REPLACE FUNCTION public.query_of_counts(
  shown text, own text, known text, billed text, counts text, revenue text, is_known text
) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT format($query$
  SELECT %1$s, requests, fills, rendered, impressions, unloaded, taps,
    clicks, stopped_actions, vocabulary.ad_error_name(error) AS error, errors, currency, gross_nanos, developer_nanos,
    network_nanos, priced_impressions, never_shown, expired_unseen, shown_briefly
  FROM (
    -- A test request's error may be one that did not happen: its reason does not say which.
    SELECT %2$s, requests, fills, 0::bigint AS rendered,
      0::bigint AS impressions, 0::bigint AS unloaded, 0::bigint AS taps, 0::bigint AS clicks,
      0::bigint AS stopped_actions, CASE reason WHEN vocabulary.decision_reason('testError') THEN injected_error
        ELSE vocabulary.error_of_decision(reason) END AS error,
      requests - fills AS errors, NULL::text AS currency, 0::numeric AS gross_nanos, 0::numeric AS developer_nanos,
      0::numeric AS network_nanos, 0::bigint AS priced_impressions, 0::bigint AS never_shown, 0::bigint AS expired_unseen,
      0::bigint AS shown_briefly
    FROM ad_selection.%5$I
    UNION ALL
    SELECT %3$s, 0, 0,
      CASE kind WHEN vocabulary.delivery_kind('rendered') THEN events ELSE 0 END,
      CASE kind WHEN vocabulary.delivery_kind('viewed') THEN events ELSE 0 END,
      CASE kind WHEN vocabulary.delivery_kind('unloaded') THEN events ELSE 0 END, 0, 0, 0,
      CASE kind WHEN vocabulary.delivery_kind('failed') THEN error END,
      CASE kind WHEN vocabulary.delivery_kind('failed') THEN events ELSE 0 END, NULL, 0, 0, 0, 0,
      CASE kind WHEN vocabulary.delivery_kind('neverShown') THEN events ELSE 0 END,
      CASE kind WHEN vocabulary.delivery_kind('expiredUnseen') THEN events ELSE 0 END,
      CASE kind WHEN vocabulary.delivery_kind('shownBriefly') THEN events ELSE 0 END
    FROM impression_tracking.%5$I c WHERE %7$s
    UNION ALL
    SELECT %2$s, 0, 0, 0, 0, 0,
      CASE kind WHEN vocabulary.tap_kind('click') THEN events ELSE 0 END,
      CASE WHEN kind = vocabulary.tap_kind('click') AND verdict = vocabulary.click_verdict('billable')
        THEN events ELSE 0 END,
      CASE kind WHEN vocabulary.tap_kind('click') THEN 0 ELSE events END, NULL, 0, NULL, 0, 0, 0, 0,
      0, 0, 0
    FROM click_tracking.%5$I
    UNION ALL
    SELECT %4$s, 0, 0, 0, 0, 0, 0, 0, 0, NULL, 0, currency,
      gross, developer_amount, network_amount,
      CASE kind WHEN vocabulary.charge_kind('impression') THEN events ELSE 0 END, 0, 0, 0
    FROM billing.%6$I
  ) AS counted
  $query$, shown, own, known, billed, counts, revenue, is_known)
$function$;

DO $do$
DECLARE
  source record;
BEGIN
  FOR source IN
    SELECT 'minute' AS name, 'all_count' AS counts, 'all_revenue' AS revenue,
      'partition, minute, %1$s, app, campaign, ad, placement, %2$s, size, device' AS columns, 'country' AS country,
      $$coalesce(nullif(country, ''), 'unknown')$$ AS known_country,
      -- An error that a device told without an ad names its app unchecked: at least the app is one.
      $$campaign <> '' OR EXISTS (SELECT FROM catalog.record r WHERE r.key = 'app/' || c.app)$$ AS is_known,
      $$partition, minute, is_test, app, campaign, ad, placement, country,
        coalesce(vocabulary.ad_size_name(size), 'unknown') AS size,
        coalesce(vocabulary.device_name(device), 'unknown') AS device$$ AS shown
    UNION ALL
    SELECT 'by_dimension', 'count_by_dimension', 'revenue_by_dimension', 'hour, dimension, %1$s, %2$s', 'value',
      $$CASE dimension WHEN 'country' THEN coalesce(nullif(value, ''), 'unknown') ELSE value END AS value$$, 'true',
      $$hour, dimension, is_test, reporting.shown_value(dimension, value) AS value$$
  LOOP
    EXECUTE format('CREATE OR REPLACE VIEW reporting.%I AS ', source.name) || public.query_of_counts(source.shown,
      format(source.columns, 'is_test', source.country), format(source.columns, 'is_test', source.known_country),
      format(source.columns, 'false', source.country), source.counts, source.revenue, source.is_known);
  END LOOP;
END
$do$;

COMMENT ON VIEW reporting.by_dimension IS
  'All that is counted, by one dimension and the hour, of old figures the day; each row counts one kind of thing. Choose one '
  'dimension: each of them has everything. Add up with sum().';
COMMENT ON COLUMN reporting.by_dimension.hour IS
  'Start of the hour, UTC: of a request its arrival, of everything else the event''s own time. Of figures that were folded the '
  'start of the day.';
COMMENT ON COLUMN reporting.by_dimension.dimension IS
  'What value is of: app, campaign, ad, country, size, device, placement; all: of everything; minute: of a minute of the hour, '
  'such as 2026-07-01T12:00:00Z, of older figures the hour or day.';
COMMENT ON COLUMN reporting.by_dimension.value IS
  'Of the dimension, as in reporting.minute; empty for all.';
COMMENT ON VIEW reporting.minute IS
  'What is counted, per minute, of older days per hour, then per day, until these go (HANDBILL_DAY_DAYS); each row counts one '
  'kind of thing. Add up with sum().';
COMMENT ON COLUMN reporting.minute.partition IS
  'The partition that counted it: which clients it serves; add up over all.';
COMMENT ON COLUMN reporting.minute.minute IS
  'Start of the minute, UTC: of a request its arrival, of everything else the event''s own time. Of figures that were '
  'folded the start of the hour, or of the day.';
COMMENT ON COLUMN reporting.minute.is_test IS 'Test traffic (A2): never billed, never in the live views.';
COMMENT ON COLUMN reporting.minute.app IS 'The app''s id.';
COMMENT ON COLUMN reporting.minute.campaign IS 'The campaign''s id; empty for a request that got no ad.';
COMMENT ON COLUMN reporting.minute.ad IS 'The ad''s id; empty for a request that got no ad.';
COMMENT ON COLUMN reporting.minute.placement IS
  'The name that the app gives the banner or interstitial; empty where a request with a mistake told none.';
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
COMMENT ON COLUMN reporting.minute.error IS 'Name of the error (rules E), such as inventoryUnavailable; NULL where there was none.';
COMMENT ON COLUMN reporting.minute.errors IS 'How often that error was answered by the network or told by a device.';
COMMENT ON COLUMN reporting.minute.currency IS 'ISO 4217 code of the money in the row; NULL where there is none.';
COMMENT ON COLUMN reporting.minute.gross_nanos IS 'What advertisers pay, in 10^-9 of the currency''s unit.';
COMMENT ON COLUMN reporting.minute.developer_nanos IS 'The app developer''s part, in 10^-9 of the unit (B2).';
COMMENT ON COLUMN reporting.minute.network_nanos IS
  'The network''s part, in 10^-9 of the unit; below 0 where it bears what no budget could pay.';
COMMENT ON COLUMN reporting.minute.priced_impressions IS
  'Impressions of campaigns in the row''s currency, house ads too, as far as billing has taken them.';
COMMENT ON COLUMN reporting.minute.never_shown IS 'Ads that were given up without having been on screen (D3).';
COMMENT ON COLUMN reporting.minute.expired_unseen IS 'Ads whose life ended before they were on screen (D5).';
COMMENT ON COLUMN reporting.minute.shown_briefly IS
  'Ads that the app hid within the refresh time, and not because the user went to another screen (D12).';

DO $do$
DECLARE
  same record;
BEGIN
  FOR same IN
    SELECT a.attname, col_description(m.attrelid, m.attnum) AS meaning FROM pg_attribute a JOIN pg_attribute m USING (attname)
    WHERE a.attrelid = 'reporting.by_dimension'::regclass AND m.attrelid = 'reporting.minute'::regclass AND a.attnum > 0
  LOOP
    EXECUTE format('COMMENT ON COLUMN reporting.by_dimension.%I IS %L', same.attname, same.meaning);
  END LOOP;
END
$do$;
