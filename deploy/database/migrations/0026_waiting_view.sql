-- What waits for budget is in no minute's revenue yet: reports say how much it is.
CREATE VIEW reporting.waiting AS
SELECT CASE kind WHEN 1 THEN 'impression' ELSE 'click' END AS kind, currency, count(*) AS events, sum(price) AS price_nanos
FROM billing.waiting GROUP BY 1, 2;
COMMENT ON VIEW reporting.waiting IS
  'Events whose price no budget could pay yet, while allotments that may return some have not ended (B4): in no revenue.';
COMMENT ON COLUMN reporting.waiting.kind IS 'impression or click.';
COMMENT ON COLUMN reporting.waiting.currency IS 'In which the advertiser pays.';
COMMENT ON COLUMN reporting.waiting.events IS 'How many wait.';
COMMENT ON COLUMN reporting.waiting.price_nanos IS 'Their prices, in billionths of the currency''s unit.';

DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_reporting') THEN
    GRANT SELECT ON reporting.waiting TO handbill_reporting;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    GRANT SELECT ON reporting.waiting TO handbill_console;
  END IF;
END
$do$;
