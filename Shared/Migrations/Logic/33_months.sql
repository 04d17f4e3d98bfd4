-- What is paid and invoiced (B7): by developer and by advertiser, per currency and month. A month is named so that the index
-- of rollups by month (0060_months) finds it.
CREATE OR REPLACE VIEW reporting.developer_month AS
SELECT developer, currency, month, amount,
  -- No event lies before its serve, and a day is sealed when nothing of its serves waits, is held or in suspense, or can come.
  (month + interval '1 month') AT TIME ZONE 'UTC' <= open_from AS is_final
FROM (
  SELECT value AS developer, currency, date_trunc('month', hour AT TIME ZONE 'UTC')::date AS month,
    sum(developer_amount) * 0.000000001 AS amount
  FROM billing.revenue_by_dimension WHERE dimension = 'developer' GROUP BY 1, 2, 3
) AS earned CROSS JOIN sealed.head;
COMMENT ON VIEW reporting.developer_month IS 'What each app developer earned, per currency and month (B7).';
COMMENT ON COLUMN reporting.developer_month.developer IS 'The developer''s id.';
COMMENT ON COLUMN reporting.developer_month.currency IS 'ISO 4217 code.';
COMMENT ON COLUMN reporting.developer_month.month IS 'First day of the month, UTC.';
COMMENT ON COLUMN reporting.developer_month.amount IS 'Earned, in units of the currency.';
COMMENT ON COLUMN reporting.developer_month.is_final IS
  'Whether nothing of the month can change any more: all its days are sealed. Pay final months only.';

CREATE OR REPLACE VIEW reporting.advertiser_month AS
SELECT advertiser, campaign, currency, month, impressions, clicks, amount,
  (month + interval '1 month') AT TIME ZONE 'UTC' <= open_from AS is_final
FROM (
  SELECT (value::text[])[1] AS advertiser, (value::text[])[2] AS campaign, currency,
    date_trunc('month', hour AT TIME ZONE 'UTC')::date AS month,
    coalesce(sum(events) FILTER (WHERE kind = vocabulary.charge_kind('impression')
      AND fate = vocabulary.charge_fate('charged')), 0)::bigint AS impressions,
    coalesce(sum(events) FILTER (WHERE kind = vocabulary.charge_kind('click')
      AND fate = vocabulary.charge_fate('charged')), 0)::bigint AS clicks,
    sum(gross) * 0.000000001 AS amount
  FROM billing.revenue_by_dimension WHERE dimension = 'advertiser' GROUP BY 1, 2, 3, 4
) AS charged CROSS JOIN sealed.head;
COMMENT ON VIEW reporting.advertiser_month IS 'What each campaign of an advertiser cost, per currency and month (B7).';
COMMENT ON COLUMN reporting.advertiser_month.advertiser IS 'The advertiser''s id.';
COMMENT ON COLUMN reporting.advertiser_month.campaign IS 'The campaign''s id.';
COMMENT ON COLUMN reporting.advertiser_month.currency IS 'ISO 4217 code.';
COMMENT ON COLUMN reporting.advertiser_month.month IS 'First day of the month, UTC.';
COMMENT ON COLUMN reporting.advertiser_month.impressions IS 'Impressions charged.';
COMMENT ON COLUMN reporting.advertiser_month.clicks IS 'Clicks charged.';
COMMENT ON COLUMN reporting.advertiser_month.amount IS 'Charged, in units of the currency.';
COMMENT ON COLUMN reporting.advertiser_month.is_final IS 'As in reporting.developer_month: invoice final months only.';
