-- Terms by content, as impression tracking has them: clicks and parked clicks name their terms. They are few, so their tables
-- are changed in place.
ALTER TABLE click_tracking.click RENAME TO click_row;
ALTER TABLE click_tracking.parked RENAME TO parked_row;
DO $do$
DECLARE
  day regclass;
  stored text;
BEGIN
  FOR day IN SELECT inhrelid FROM pg_inherits WHERE inhparent = 'click_tracking.click_row'::regclass LOOP
    EXECUTE format('ALTER TABLE %s RENAME TO %I', day,
      replace((SELECT relname FROM pg_class WHERE oid = day), 'click_', 'click_row_'));
  END LOOP;
  FOREACH stored IN ARRAY ARRAY['click_row', 'parked_row'] LOOP
    EXECUTE format($ddl$
      ALTER TABLE click_tracking.%1$I ADD COLUMN terms bigint, ADD COLUMN life_ms bigint;
      UPDATE click_tracking.%1$I SET life_ms = (extract(epoch FROM expires_at - timestamptz 'epoch') * 1000)::bigint
        - ('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint;
      UPDATE click_tracking.%1$I SET terms = ('x' || encode(substr(sha256(convert_to(concat_ws('/', app, developer,
        advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points, life_ms, is_test),
        'UTF8')), 1, 8), 'hex'))::bit(64)::bigint;
      INSERT INTO click_tracking.terms AS known (name, last_day, app, developer, advertiser, campaign, ad,
        impression_price, click_price, currency, share_basis_points, life_ms, is_test)
      SELECT terms, date '1970-01-01'
          + (max(('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint) / 86400000)::int,
        app, developer, advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points, life_ms,
        is_test
      FROM click_tracking.%1$I
      GROUP BY terms, app, developer, advertiser, campaign, ad, impression_price, click_price, currency,
        share_basis_points, life_ms, is_test
      ON CONFLICT (name) DO UPDATE SET last_day = greatest(known.last_day, excluded.last_day);
      -- With the views that read them: views of the same names are made again in their place.
      ALTER TABLE click_tracking.%1$I ALTER COLUMN terms SET NOT NULL, DROP COLUMN life_ms, DROP COLUMN expires_at CASCADE,
        DROP COLUMN app CASCADE, DROP COLUMN developer CASCADE, DROP COLUMN advertiser CASCADE,
        DROP COLUMN campaign CASCADE, DROP COLUMN ad CASCADE, DROP COLUMN impression_price CASCADE,
        DROP COLUMN click_price CASCADE, DROP COLUMN currency CASCADE, DROP COLUMN share_basis_points CASCADE;
    $ddl$, stored);
  END LOOP;
END
$do$;
