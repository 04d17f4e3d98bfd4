-- Test requests that get an error which did not happen (A2) are counted with its code: their reason says no more than
-- that it was injected.
ALTER TABLE ad_selection.minute_count
  -- Code of rules E; -1 where none was injected.
  ADD COLUMN injected_error smallint NOT NULL DEFAULT -1,
  DROP CONSTRAINT minute_count_pkey,
  ADD PRIMARY KEY (partition, minute, reason, app, placement, campaign, ad, country, device, size, is_test,
    injected_error);

CREATE OR REPLACE VIEW reporting.minute AS
SELECT minute, is_test, app, campaign, ad, placement, country, reporting.size_name(size) AS size,
  reporting.device_name(device) AS device, requests, fills, 0::bigint AS rendered, 0::bigint AS impressions,
  0::bigint AS unloaded, 0::bigint AS taps, 0::bigint AS clicks, 0::bigint AS stopped_actions,
  CASE WHEN injected_error >= 0 THEN injected_error ELSE reporting.error_of_reason(reason) END AS error,
  requests - fills AS errors, NULL::text AS currency,
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
