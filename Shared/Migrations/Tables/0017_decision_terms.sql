-- Terms by content, as the trackers have them: decisions name the terms of the ad that was served, and what it shows and
-- does (its creative) likewise. What has no ad says of the app by itself.
CREATE TABLE ad_selection.creative (
  -- The first 8 bytes of the SHA-256 of everything below but last_day.
  name bigint PRIMARY KEY,
  -- As in ad_selection.terms.
  last_day date NOT NULL,
  lifetime_milliseconds bigint NOT NULL,
  action smallint NOT NULL,
  destination text NOT NULL,
  image_sizes smallint[] NOT NULL,
  image_urls text[] NOT NULL
);

ALTER TABLE ad_selection.decision RENAME TO decision_row;
DO $do$
DECLARE
  day regclass;
BEGIN
  FOR day IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'ad_selection.decision_row'::regclass LOOP
    EXECUTE format('ALTER TABLE %s RENAME TO %I', day,
      replace((SELECT relname FROM pg_class WHERE oid = day), 'decision_', 'decision_row_'));
  END LOOP;
END
$do$;
ALTER TABLE ad_selection.decision_row DROP CONSTRAINT decision_is_whole, DROP CONSTRAINT decision_test_is_free,
  ALTER COLUMN app DROP NOT NULL, ALTER COLUMN excluded_reasons DROP NOT NULL, ALTER COLUMN excluded_counts DROP NOT NULL,
  ADD COLUMN terms bigint, ADD COLUMN creative bigint, ADD COLUMN life_ms bigint;

-- Names are made here as later ones are by the services.
UPDATE ad_selection.decision_row SET life_ms = (extract(epoch FROM expires_at - timestamptz 'epoch') * 1000)::bigint
  - ('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint
WHERE ad IS NOT NULL;
UPDATE ad_selection.decision_row SET
  terms = ('x' || encode(substr(sha256(convert_to(concat_ws('/', app, developer, advertiser, campaign, ad, impression_price,
    click_price, currency, share_basis_points, life_ms, is_test), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint,
  creative = ('x' || encode(substr(sha256(convert_to(concat_ws(' ', lifetime_milliseconds, action, destination,
    array_to_string(image_sizes, ' '), array_to_string(image_urls, ' ')), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
WHERE ad IS NOT NULL;
INSERT INTO ad_selection.terms
SELECT terms, date '1970-01-01'
    + (max(('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint) / 86400000)::int,
  app, developer, advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points, life_ms, is_test
FROM ad_selection.decision_row WHERE ad IS NOT NULL
GROUP BY terms, app, developer, advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points,
  life_ms, is_test;
INSERT INTO ad_selection.creative
SELECT creative, date '1970-01-01'
    + (max(('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint) / 86400000)::int,
  lifetime_milliseconds, action, destination, image_sizes, image_urls
FROM ad_selection.decision_row WHERE ad IS NOT NULL
GROUP BY creative, lifetime_milliseconds, action, destination, image_sizes, image_urls;
UPDATE ad_selection.decision_row SET app = CASE WHEN terms IS NULL THEN app END,
  excluded_reasons = nullif(excluded_reasons, '{}'), excluded_counts = nullif(excluded_counts, '{}');

-- With the views that read them: a view of the old name is made again in their place.
ALTER TABLE ad_selection.decision_row DROP COLUMN life_ms, DROP COLUMN expires_at CASCADE, DROP COLUMN developer CASCADE,
  DROP COLUMN advertiser CASCADE, DROP COLUMN campaign CASCADE, DROP COLUMN ad CASCADE,
  DROP COLUMN impression_price CASCADE, DROP COLUMN click_price CASCADE, DROP COLUMN currency CASCADE,
  DROP COLUMN share_basis_points CASCADE, DROP COLUMN lifetime_milliseconds CASCADE, DROP COLUMN image_sizes CASCADE,
  DROP COLUMN image_urls CASCADE, DROP COLUMN action CASCADE, DROP COLUMN destination CASCADE,
  ADD CONSTRAINT decision_is_whole CHECK (
    CASE WHEN terms IS NOT NULL
      THEN num_nulls(creative, size, allotment, budget_day) = 0 AND error IS NULL AND app IS NULL
      ELSE creative IS NULL AND error IS NOT NULL AND app IS NOT NULL
    END),
  -- Test ads are nobody's money (A2, I8).
  ADD CONSTRAINT decision_test_is_free CHECK (NOT is_test OR coalesce(allotment, 0) = 0);
ALTER TABLE ad_selection.terms ADD CONSTRAINT terms_of_tests_are_free CHECK (
  NOT is_test OR impression_price = 0 AND click_price = 0);
