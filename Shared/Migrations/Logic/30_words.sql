-- dividend / divisor with two decimals, a half up, exactly; NULL for a divisor of 0.
CREATE OR REPLACE FUNCTION reporting.hundredths(dividend numeric, divisor numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN divisor > 0
    THEN ((x.value - mod(mod(x.value, 2 * divisor) + 2 * divisor, 2 * divisor)) / (2 * divisor) * 0.01)::numeric(38,2) END
  FROM (VALUES (200 * dividend + divisor)) AS x (value)
$function$;

-- What the numbers of all columns mean.
CREATE OR REPLACE VIEW reporting.vocabulary AS
SELECT vocabulary, number, name, rule, meaning FROM vocabulary.word;
COMMENT ON VIEW reporting.vocabulary IS 'What the numbers in the services'' tables mean: they never change meaning.';
COMMENT ON COLUMN reporting.vocabulary.vocabulary IS
  'What kind of number it is; the comment of a table''s column names its vocabulary.';
COMMENT ON COLUMN reporting.vocabulary.number IS 'The number that tables hold.';
COMMENT ON COLUMN reporting.vocabulary.name IS 'Its name, as reports, metrics and explanations show it.';
COMMENT ON COLUMN reporting.vocabulary.rule IS 'The rule behind it (docs/rules.md); NULL where it follows from none.';
COMMENT ON COLUMN reporting.vocabulary.meaning IS 'What it says, in words.';

-- Which vocabulary the numbers of each column are from.
DO $do$
DECLARE
  column_name text;
  vocabulary text;
  length text;
BEGIN
  FOR column_name, vocabulary IN VALUES
    ('ad_selection.decision_row.device', 'device'), ('ad_selection.decision_row.size', 'ad_size'),
    ('ad_selection.decision_row.outcome', 'outcome'), ('ad_selection.decision_row.reason', 'decision_reason'),
    ('ad_selection.decision_row.error', 'ad_error'), ('ad_selection.decision_row.excluded_reasons', 'no_serve_reason'),
    ('ad_selection.decision_pack.outcome', 'outcome'), ('ad_selection.decision_pack.devices', 'device'),
    ('ad_selection.decision_pack.sizes', 'ad_size'), ('ad_selection.decision_pack.reasons', 'decision_reason'),
    ('ad_selection.decision_pack.paid_ads', 'paid_ads_state'),
    ('ad_selection.decision_row.paid_ads', 'paid_ads_state'), ('ad_selection.creative.image_sizes', 'ad_size'),
    ('ad_selection.creative.action', 'ad_action'),
    ('ad_selection.decision.device', 'device'), ('ad_selection.decision.size', 'ad_size'),
    ('ad_selection.decision.outcome', 'outcome'), ('ad_selection.decision.reason', 'decision_reason'),
    ('ad_selection.decision.error', 'ad_error'), ('ad_selection.decision.image_sizes', 'ad_size'),
    ('ad_selection.decision.action', 'ad_action'), ('ad_selection.decision.paid_ads', 'paid_ads_state'),
    ('ad_selection.decision.excluded_reasons', 'no_serve_reason'),
    ('ad_selection.minute_count.reason', 'decision_reason'), ('ad_selection.minute_count.device', 'device'),
    ('ad_selection.minute_count.size', 'ad_size'), ('ad_selection.minute_count.injected_error', 'ad_error'),
    ('ad_selection.keyless_count.reason', 'decision_reason'),
    ('impression_tracking.impression.device', 'device'), ('impression_tracking.impression.size', 'ad_size'),
    ('impression_tracking.impression_row.device', 'device'), ('impression_tracking.impression_row.size', 'ad_size'),
    ('impression_tracking.delivery_row.kind', 'delivery_kind'), ('impression_tracking.delivery_row.error', 'ad_error'),
    ('impression_tracking.delivery_row.device', 'device'), ('impression_tracking.delivery_row.size', 'ad_size'),
    ('impression_tracking.delivery_pack.kind', 'delivery_kind'),
    ('impression_tracking.delivery_pack.devices', 'device'), ('impression_tracking.delivery_pack.sizes', 'ad_size'),
    ('impression_tracking.delivery.kind', 'delivery_kind'), ('impression_tracking.delivery.error', 'ad_error'),
    ('impression_tracking.delivery.device', 'device'), ('impression_tracking.delivery.size', 'ad_size'),
    ('impression_tracking.failure.error', 'ad_error'),
    ('impression_tracking.minute_count.kind', 'delivery_kind'), ('impression_tracking.minute_count.error', 'ad_error'),
    ('impression_tracking.minute_count.device', 'device'), ('impression_tracking.minute_count.size', 'ad_size'),
    ('click_tracking.click_row.verdict', 'click_verdict'), ('click_tracking.click_row.device', 'device'),
    ('click_tracking.click_row.size', 'ad_size'), ('click_tracking.parked_row.device', 'device'),
    ('click_tracking.parked_row.size', 'ad_size'),
    ('click_tracking.click.verdict', 'click_verdict'), ('click_tracking.click.device', 'device'),
    ('click_tracking.click.size', 'ad_size'), ('click_tracking.parked.device', 'device'),
    ('click_tracking.parked.size', 'ad_size'), ('click_tracking.stopped_action.kind', 'tap_kind'),
    ('click_tracking.conversion.kind', 'conversion_kind'),
    ('click_tracking.stopped_action.device', 'device'), ('click_tracking.stopped_action.size', 'ad_size'),
    ('click_tracking.minute_count.kind', 'tap_kind'), ('click_tracking.minute_count.verdict', 'click_verdict'),
    ('click_tracking.minute_count.device', 'device'), ('click_tracking.minute_count.size', 'ad_size'),
    ('billing.allotment.state', 'allotment_state'),
    ('billing.charge_row.kind', 'charge_kind'), ('billing.charge_row.fate', 'charge_fate'),
    ('billing.charge_row.device', 'device'), ('billing.charge_row.size', 'ad_size'),
    ('billing.charge_pack.kind', 'charge_kind'), ('billing.charge_pack.fate', 'charge_fate'),
    ('billing.charge_pack.devices', 'device'),
    ('billing.charge_pack.sizes', 'ad_size'),
    ('billing.charge.kind', 'charge_kind'), ('billing.charge.fate', 'charge_fate'),
    ('billing.charge.device', 'device'), ('billing.charge.size', 'ad_size'),
    ('billing.waiting_row.kind', 'charge_kind'), ('billing.waiting_row.device', 'device'),
    ('billing.waiting_row.size', 'ad_size'),
    ('billing.waiting.kind', 'charge_kind'), ('billing.waiting.fate', 'charge_fate'),
    ('billing.waiting.device', 'device'), ('billing.waiting.size', 'ad_size'),
    ('billing.suspense.kind', 'charge_kind'),
    ('billing.held_row.kind', 'charge_kind'), ('billing.held_row.reason', 'hold_reason'),
    ('billing.held_row.device', 'device'), ('billing.held_row.size', 'ad_size'),
    ('billing.held.kind', 'charge_kind'), ('billing.held.fate', 'charge_fate'), ('billing.held.reason', 'hold_reason'),
    ('billing.held.device', 'device'), ('billing.held.size', 'ad_size'),
    ('sealed.revenue_ahead.kind', 'charge_kind'), ('sealed.revenue_ahead.fate', 'charge_fate'),
    ('billing.minute_revenue.kind', 'charge_kind'), ('billing.minute_revenue.fate', 'charge_fate'),
    ('billing.minute_revenue.device', 'device'), ('billing.minute_revenue.size', 'ad_size'),
    ('ad_selection.rejected.reason', 'rejection_reason'), ('impression_tracking.rejected.reason', 'rejection_reason'),
    ('click_tracking.rejected.reason', 'rejection_reason'), ('billing.rejected.reason', 'rejection_reason'),
    ('console.anomaly.kind', 'anomaly_kind')
  LOOP
    -- Counts of minutes may be packed, and are folded into tables of hours and days: with the same columns. Rollups have no
    -- dimensions as columns.
    FOREACH length IN ARRAY CASE WHEN column_name LIKE '%.minute\_%' THEN ARRAY['minute', 'packed', 'hour', 'day']
        || CASE WHEN column_name ~ '\.(device|size)$' THEN '{}' ELSE ARRAY['rollup'] END
      ELSE ARRAY['minute'] END
    LOOP
      EXECUTE format('COMMENT ON COLUMN %s IS %L', replace(column_name, '.minute_', '.' || length || '_'),
        'The number of a word of ' || vocabulary || ' (reporting.vocabulary).');
    END LOOP;
  END LOOP;
END
$do$;
