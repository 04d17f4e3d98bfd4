-- Up to when the figures are complete: what arrived before is decided. The least of all partitions counts.
CREATE OR REPLACE VIEW reporting.completeness AS
SELECT figures, count(*)::int AS partitions, nullif(min(complete_until), 'epoch') AS complete_until FROM (
  SELECT 'impressions' AS figures, watermark AS complete_until FROM impression_tracking.partition
  UNION ALL SELECT 'clicks', watermark FROM click_tracking.partition
  UNION ALL SELECT 'revenue', consumed_watermark FROM billing.input
    WHERE topic IN ('ads.impressions.accepted', 'ads.clicks.accepted')
) AS partitions GROUP BY figures;
COMMENT ON VIEW reporting.completeness IS 'Up to when the figures of reports are complete.';
COMMENT ON COLUMN reporting.completeness.figures IS 'impressions, clicks or revenue.';
COMMENT ON COLUMN reporting.completeness.partitions IS 'Partitions (for revenue: of both inputs) that it counts.';
COMMENT ON COLUMN reporting.completeness.complete_until IS
  'Everything that arrived before is in the figures, but for what waits, is held or in suspense; NULL while a partition has not told.';

-- What reads the schema `reporting` can ask whether it still means what it meant: docs/reporting.md says what each view
-- and column of this version is.
CREATE OR REPLACE VIEW reporting.version AS SELECT 2 AS version;
COMMENT ON VIEW reporting.version IS 'The version of this schema: one row.';
COMMENT ON COLUMN reporting.version.version IS
  'Raised when a view or column goes away, or changes its name, type, unit or meaning; new ones do not raise it.';

-- What is held for a person is in no minute's revenue either.
CREATE OR REPLACE VIEW reporting.held AS
SELECT app, to_timestamp(hour * 3600.0) AS hour, vocabulary.hold_reason_name(reason) AS reason,
  vocabulary.charge_kind_name(kind) AS kind, currency, count(*) AS events, sum(price) AS price_nanos
FROM billing.held GROUP BY 1, 2, 3, 4, 5;
COMMENT ON VIEW reporting.held IS
  'Accepted events beyond a cap of their app''s hour, which a person has to release or void (B8): in no revenue.';
COMMENT ON COLUMN reporting.held.app IS 'The app''s id.';
COMMENT ON COLUMN reporting.held.hour IS 'Start of the hour, UTC, in which their ads were served.';
COMMENT ON COLUMN reporting.held.reason IS 'impressions, clicksOfAd or clickRate: the cap; decisionLost: its ad was served by a decision that the database has lost.';
COMMENT ON COLUMN reporting.held.kind IS 'impression or click.';
COMMENT ON COLUMN reporting.held.currency IS 'In which the advertiser would pay.';
COMMENT ON COLUMN reporting.held.events IS 'How many are held.';
COMMENT ON COLUMN reporting.held.price_nanos IS 'Their prices, in billionths of the currency''s unit.';

-- What waits for budget is in no minute's revenue yet: reports say how much it is.
CREATE OR REPLACE VIEW reporting.waiting AS
SELECT vocabulary.charge_kind_name(kind) AS kind, currency, count(*) AS events,
  sum(price) AS price_nanos
FROM billing.waiting GROUP BY 1, 2;
COMMENT ON VIEW reporting.waiting IS
  'Events whose price no budget could pay yet, while allotments that may return some have not ended (B4): in no revenue.';
COMMENT ON COLUMN reporting.waiting.kind IS 'impression or click.';
COMMENT ON COLUMN reporting.waiting.currency IS 'In which the advertiser pays.';
COMMENT ON COLUMN reporting.waiting.events IS 'How many wait.';
COMMENT ON COLUMN reporting.waiting.price_nanos IS 'Their prices, in billionths of the currency''s unit.';
