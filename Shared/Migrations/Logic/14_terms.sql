-- Terms by content: what the terms of many serves have in common is stored once in each service's schema, under a name made
-- of it. Tables of rows, whose names end in _row, hold that name and what is the event's own; the view without _row shows
-- both together.

-- When an id of version 7 was made: of a serve id, when its ad was decided.
CREATE OR REPLACE FUNCTION public.time_of(id uuid) RETURNS timestamptz LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT timestamptz 'epoch' + public.ms_of(id) * interval '1 millisecond'
$function$;

-- The name of terms, as the services make it: the first 8 bytes of the SHA-256 of their fields between slashes.
CREATE OR REPLACE FUNCTION public.terms_name(app text, developer text, advertiser text, campaign text, ad text,
  impression_price bigint, click_price bigint, currency text, share_basis_points int, life_ms bigint, is_test boolean)
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT ('x' || encode(substr(sha256(convert_to(concat_ws('/', app, developer, advertiser, campaign, ad, impression_price,
    click_price, currency, share_basis_points, life_ms, is_test), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$function$;

-- Stores terms that rows to come name, with the latest day of their serves. A name that is another's already is refused: no
-- row ever names terms that are not its own.
CREATE OR REPLACE FUNCTION public.note_terms(service text, names bigint[], days date[], apps text[], developers text[],
  advertisers text[], campaigns text[], ads text[], impression_prices bigint[], click_prices bigint[], currencies text[],
  shares int[], lives_ms bigint[], are_test boolean[])
RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  other bigint;
BEGIN
  -- The batch that names them is durable only with what lies before it in the log.
  PERFORM set_config('synchronous_commit', 'off', true);
  -- In one order, so that nobody waits for whoever waits for him.
  EXECUTE format($sql$
    INSERT INTO %I.terms AS stored (name, last_day, app, developer, advertiser, campaign, ad, impression_price, click_price,
      currency, share_basis_points, life_ms, is_test)
    SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) AS told (name) ORDER BY name
    ON CONFLICT (name) DO UPDATE SET last_day = excluded.last_day WHERE stored.last_day < excluded.last_day
    $sql$, service)
  USING names, days, apps, developers, advertisers, campaigns, ads, impression_prices, click_prices, currencies, shares,
    lives_ms, are_test;
  EXECUTE format($sql$
    SELECT min(name) FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) AS told (name, app, developer,
      advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points, life_ms, is_test)
    JOIN %I.terms AS stored USING (name)
    WHERE (told.app, told.developer, told.advertiser, told.campaign, told.ad, told.impression_price, told.click_price,
        told.currency, told.share_basis_points, told.life_ms, told.is_test)
      <> (stored.app, stored.developer, stored.advertiser, stored.campaign, stored.ad, stored.impression_price,
        stored.click_price, stored.currency, stored.share_basis_points, stored.life_ms, stored.is_test)
    $sql$, service)
  INTO other
  USING names, apps, developers, advertisers, campaigns, ads, impression_prices, click_prices, currencies, shares, lives_ms,
    are_test;
  IF other IS NOT NULL THEN
    RAISE EXCEPTION 'other terms have the name % already', other USING ERRCODE = 'check_violation';
  END IF;
END
$function$;

-- The name of a creative, as ad selection makes it: the first 8 bytes of the SHA-256 of its words between spaces.
CREATE OR REPLACE FUNCTION ad_selection.creative_name(lifetime_milliseconds bigint, action smallint, destination text,
  image_sizes smallint[], image_urls text[])
RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT ('x' || encode(substr(sha256(convert_to(concat_ws(' ', lifetime_milliseconds, action, destination,
    array_to_string(image_sizes, ' '), array_to_string(image_urls, ' ')), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$function$;

-- Stores what a served ad shows and does, as public.note_terms stores terms.
CREATE OR REPLACE FUNCTION ad_selection.note_creative(told_name bigint, day date, lifetime bigint, told_action smallint,
  told_destination text, sizes smallint[], urls text[])
RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  PERFORM set_config('synchronous_commit', 'off', true);
  INSERT INTO ad_selection.creative AS stored (name, last_day, lifetime_milliseconds, action, destination, image_sizes,
    image_urls)
  VALUES (told_name, day, lifetime, told_action, told_destination, sizes, urls)
  ON CONFLICT (name) DO UPDATE SET last_day = excluded.last_day WHERE stored.last_day < excluded.last_day;
  IF NOT EXISTS (
    SELECT FROM ad_selection.creative WHERE name = told_name AND (lifetime_milliseconds, action, destination, image_sizes,
      image_urls) = (lifetime, told_action, told_destination, sizes, urls))
  THEN
    RAISE EXCEPTION 'another creative has the name % already', told_name USING ERRCODE = 'check_violation';
  END IF;
END
$function$;

-- Removes the terms that no row can name any more: those of serves from before all days that still have tables, but for what
-- waits apart from the days. Says how many went.
CREATE OR REPLACE FUNCTION public.forget_terms(service text) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  oldest date;
  -- Whose rows go when they are decided, however old.
  waiting text := CASE service WHEN 'click_tracking' THEN 'SELECT terms FROM click_tracking.parked_row'
    WHEN 'billing' THEN 'SELECT terms FROM billing.waiting_row UNION ALL SELECT terms FROM billing.held_row' END;
  gone bigint;
BEGIN
  PERFORM public.hold_service(service);
  -- Counts of events behind midnight stay longer than the rows of their serves, and are compared with the terms.
  SELECT min(to_date(right(day.relname, 8), 'YYYYMMDD')) - 2 INTO oldest
  FROM pg_inherits i JOIN pg_class parent ON parent.oid = i.inhparent JOIN pg_class day ON day.oid = i.inhrelid
  WHERE parent.relnamespace = service::regnamespace AND parent.relname LIKE '%\_row';
  EXECUTE format('DELETE FROM %I.terms WHERE last_day < $1', service)
    -- With NOT IN all that waits would be read for each of the terms, once it is too much for a hash table.
    || CASE WHEN waiting IS NULL THEN ''
      ELSE format(' AND NOT EXISTS (SELECT FROM (%s) AS waiting WHERE waiting.terms = name)', waiting) END
    USING oldest;
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF service = 'ad_selection' THEN DELETE FROM ad_selection.creative WHERE last_day < oldest; END IF;
  RETURN gone;
END
$function$;

-- Impressions and clicks with their terms: all of them by a view, and by a function, such as impression_tracking.impressions,
-- those with serve ids between two, both included. The function looks at no older terms than rows of such serves can name: who
-- reads many rows by the view reads all terms that there are beside them, of as many days as are kept. The planner puts it into
-- the query that calls it, so its arguments are no queries.
DO $do$
DECLARE
  shown record;
BEGIN
  FOR shown IN SELECT * FROM (VALUES
    ('impression_tracking.impression', 'Accepted impressions with their terms.', $query$
      SELECT s.serve_id, s.partition, s.batch_number, s.sequence, s.event_time, s.arrival,
        public.time_of(s.serve_id) + life_ms * interval '1 millisecond' AS expires_at, app, developer, advertiser, campaign,
        ad, s.placement, s.country, s.device, s.size, impression_price, click_price, currency, share_basis_points,
        s.allotment, s.budget_day, s.client_hash, s.is_test
      FROM impression_tracking.impression_row AS s LEFT JOIN impression_tracking.terms AS t ON t.name = s.terms
    $query$),
    ('click_tracking.click', 'Decided clicks with their terms.', $query$
      SELECT s.serve_id, s.id_hash, s.partition, s.batch_number, s.sequence, s.verdict, s.was_parked, s.event_time, s.arrival,
        public.time_of(s.serve_id) + life_ms * interval '1 millisecond' AS expires_at, app, developer, advertiser, campaign,
        ad, s.placement, s.country, s.device, s.size, impression_price, click_price, currency, share_basis_points,
        s.allotment, s.budget_day, s.client_hash, s.is_test, s.is_accidental, s.is_judged
      FROM click_tracking.click_row AS s LEFT JOIN click_tracking.terms AS t ON t.name = s.terms
    $query$)) AS views (name, meaning, query)
  LOOP
    EXECUTE format('CREATE OR REPLACE VIEW %s AS %s', shown.name, shown.query);
    EXECUTE format('COMMENT ON VIEW %s IS %L', shown.name, shown.meaning);
    EXECUTE format('CREATE OR REPLACE FUNCTION %1$ss(first uuid, last uuid) RETURNS SETOF %1$s
      LANGUAGE sql STABLE PARALLEL SAFE AS $function$ %2$s AND t.last_day >= public.day_of($1)
      WHERE s.serve_id BETWEEN $1 AND $2 $function$', shown.name, shown.query);
  END LOOP;
END
$do$;

CREATE OR REPLACE VIEW click_tracking.parked AS
SELECT serve_id, id_hash, partition, batch_number, record_offset, is_accidental, event_time, arrival, stored.expires_at, app,
  developer, advertiser, campaign, ad, placement, country, device, size, impression_price, click_price, currency,
  share_basis_points, allotment, budget_day, client_hash, stored.is_test
FROM click_tracking.parked_row AS stored LEFT JOIN click_tracking.terms ON name = stored.terms;
COMMENT ON VIEW click_tracking.parked IS
  'Clicks without a verdict yet, with their terms: their ad was not seen, or an earlier click of the client is not decided.';
