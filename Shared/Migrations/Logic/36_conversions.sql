-- What came of clicks in advertised apps (M8): installs and purchases whose click counts, in whatever order the two came. Live
-- traffic only; what an app tells of an ad that it showed itself counts for nobody.
CREATE OR REPLACE VIEW click_tracking.counted_conversion AS
SELECT v.serve_id, c.serve_id AS click_serve_id, (v.event_time AT TIME ZONE 'UTC')::date AS day, c.advertiser,
  c.campaign, c.ad, c.app, v.app AS told_by, vocabulary.conversion_kind_name(v.kind) AS kind, nullif(v.currency, '') AS currency, v.value
FROM click_tracking.conversion v JOIN click_tracking.click c ON c.serve_id = v.serve_id AND c.partition = v.partition
WHERE NOT v.is_test AND NOT c.is_test AND c.verdict = vocabulary.click_verdict('billable') AND c.app <> v.app;
COMMENT ON VIEW click_tracking.counted_conversion IS
  'Conversions whose click counts. The serve id of each of the two: who bounds both reads no table of other days.';

CREATE OR REPLACE VIEW reporting.conversion AS
SELECT day, advertiser, campaign, ad, app, told_by, kind, currency, count(*)::bigint AS conversions,
  sum(value)::numeric AS value_nanos
FROM click_tracking.counted_conversion GROUP BY 1, 2, 3, 4, 5, 6, 7, 8;
COMMENT ON VIEW reporting.conversion IS
  'Installs, purchases and the like that came of clicks which count (M8), by day, told with the user''s consent.';
COMMENT ON COLUMN reporting.conversion.day IS 'Day in UTC on which it was done.';
COMMENT ON COLUMN reporting.conversion.advertiser IS 'The advertiser''s id.';
COMMENT ON COLUMN reporting.conversion.campaign IS 'The campaign''s id.';
COMMENT ON COLUMN reporting.conversion.ad IS 'The ad''s id.';
COMMENT ON COLUMN reporting.conversion.app IS 'The id of the app that showed the ad.';
COMMENT ON COLUMN reporting.conversion.told_by IS 'The id of the advertised app, which told it.';
COMMENT ON COLUMN reporting.conversion.kind IS 'install, purchase or other.';
COMMENT ON COLUMN reporting.conversion.currency IS 'ISO 4217 code of the value; NULL where none was told.';
COMMENT ON COLUMN reporting.conversion.conversions IS 'How many: of one click each purchase once, of all else the first.';
COMMENT ON COLUMN reporting.conversion.value_nanos IS
  'What they were worth to the advertiser, as he tells it, in 10^-9 of the unit. No money moves by it.';
