-- Charges and what waits to be one: what each costs, and both with their terms.

-- The developer's part of an amount, rounded half up, away from 0 (B2), as the services split it: in integers that do not
-- overflow.
CREATE OR REPLACE FUNCTION billing.developer_part(amount bigint, share_basis_points int) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT amount / 10000 * share_basis_points + (amount % 10000 * share_basis_points + sign(amount)::int * 5000) / 10000
$function$;

-- What an event costs, and who pays what of it, by its terms and its fate: the advertiser pays the price or nothing, the
-- developer gets its part of it, and the network the rest; an unfunded event costs the network what the developer gets (B2,
-- B4). Nothing else says so: the parts of an amount always add up to it, and it is never more than the price.
CREATE OR REPLACE FUNCTION billing.amounts(
  kind smallint, fate smallint, impression_price bigint, click_price bigint, share_basis_points int
) RETURNS TABLE (price bigint, amount bigint, developer_amount bigint, network_amount bigint)
LANGUAGE sql IMMUTABLE PARALLEL SAFE
-- Its names are looked up now: whoever reads the view needs no right on the words.
BEGIN ATOMIC
  SELECT p.price, CASE fate WHEN vocabulary.charge_fate('charged') THEN p.price ELSE 0 END,
    CASE WHEN fate IN (vocabulary.charge_fate('charged'), vocabulary.charge_fate('unfunded')) THEN d.part ELSE 0 END,
    CASE fate WHEN vocabulary.charge_fate('charged') THEN p.price - d.part
      WHEN vocabulary.charge_fate('unfunded') THEN -d.part ELSE 0 END
  FROM (
    SELECT CASE kind WHEN vocabulary.charge_kind('impression') THEN impression_price
      WHEN vocabulary.charge_kind('click') THEN click_price END AS price
  ) AS p CROSS JOIN LATERAL (SELECT billing.developer_part(p.price, share_basis_points) AS part) AS d;
END;

-- The terms of that name, and what an event under them costs. Looked up by name: the planner expects few terms, and joined
-- otherwise it compares each row with all of them.
CREATE OR REPLACE FUNCTION billing.priced_terms(terms_name bigint, kind smallint, fate smallint) RETURNS TABLE (
  app text, developer text, advertiser text, campaign text, ad text, currency text, price bigint, amount bigint,
  developer_amount bigint, network_amount bigint
) LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT t.app, t.developer, t.advertiser, t.campaign, t.ad, t.currency, a.*
  FROM billing.terms AS t
    CROSS JOIN LATERAL billing.amounts($2, $3, t.impression_price, t.click_price, t.share_basis_points) AS a
  WHERE t.name = $1 OFFSET 0
$function$;

-- Charges, wherever they lie: in rows of their own, or many in one (0047_charge_packs). Whoever reads them goes through these
-- functions, which the planner puts into the query that calls them, so their arguments are no queries.

-- All of them with serve ids between two, both included, as rows. Those of a minute lie in packs of that minute.
CREATE OR REPLACE FUNCTION billing.stored_charges(first uuid, last uuid) RETURNS SETOF billing.charge_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT r.* FROM billing.charge_row AS r WHERE r.serve_id BETWEEN $1 AND $2
  UNION ALL
  SELECT c.serve_id, c.batch_number, c.event_time, 0::bigint, c.terms, c.allotment, NULL::bigint, c.partition, c.budget_day,
    c.kind, c.fate, c.device, c.size, c.country, c.placement
  FROM (
    SELECT p.batch_number, p.partition, p.kind, p.fate, unnest(p.serve_ids) AS serve_id,
      unnest(p.event_times) AS event_time, unnest(p.terms) AS terms, unnest(p.allotments) AS allotment,
      unnest(p.budget_days) AS budget_day, unnest(p.devices) AS device, unnest(p.sizes) AS size,
      unnest(p.countries) AS country, unnest(p.placements) AS placement
    FROM billing.charge_pack AS p
    WHERE p.serve_id BETWEEN public.first_uuid_of_span($1, 60000) AND $2
      AND p.last_serve_id >= $1
  ) AS c
  WHERE c.serve_id BETWEEN $1 AND $2
$function$;

-- All of a partition in rows and packs that have these keys.
CREATE OR REPLACE FUNCTION billing.keyed_charges(of_partition int, keys uuid[]) RETURNS SETOF billing.charge_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT r.* FROM billing.charge_row AS r WHERE r.serve_id = ANY ($2) AND r.partition = $1
  UNION ALL
  SELECT unnest(p.serve_ids), p.batch_number, unnest(p.event_times), 0::bigint, unnest(p.terms), unnest(p.allotments),
    NULL::bigint, p.partition, unnest(p.budget_days), p.kind, p.fate, unnest(p.devices), unnest(p.sizes),
    unnest(p.countries), unnest(p.placements)
  FROM billing.charge_pack AS p WHERE p.serve_id = ANY ($2) AND p.partition = $1
$function$;

-- What they come to, of those with serve ids from one on and before another, of each terms' charges of one kind and fate and
-- allotment together: whoever adds up money needs no single one. Of packs four lists are taken apart for it.
CREATE OR REPLACE FUNCTION billing.charge_sums(first uuid, next uuid) RETURNS TABLE (partition int, kind smallint,
  fate smallint, allotment bigint, is_drawn boolean, is_counted boolean, budget_day int, app text, developer text,
  advertiser text, campaign text, currency text, events bigint, amount numeric, developer_amount numeric,
  network_amount numeric)
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT s.partition, s.kind, s.fate, s.allotment, s.is_drawn, s.is_counted, s.budget_day, t.app, t.developer, t.advertiser,
    t.campaign, t.currency, s.events, s.events * a.amount::numeric, s.events * a.developer_amount::numeric,
    s.events * a.network_amount::numeric
  FROM (
    SELECT c.partition, c.kind, c.fate, c.terms, c.allotment, c.is_drawn, c.budget_day,
      -- Those that billing has counted in its minutes: what the database decided, it counted itself.
      coalesce(c.is_drawn OR c.batch_number <= d.batch_number, false) AS is_counted, count(*) AS events
    FROM (
      SELECT r.serve_id, r.partition, r.kind, r.fate, r.batch_number, r.terms, r.allotment,
        r.draw_version IS NOT NULL AS is_drawn, r.budget_day
      FROM billing.charge_row AS r WHERE r.serve_id >= $1 AND r.serve_id < $2
      UNION ALL
      SELECT u.serve_id, u.partition, u.kind, u.fate, u.batch_number, u.terms, u.allotment, false, u.budget_day
      FROM (
        SELECT p.partition, p.kind, p.fate, p.batch_number, unnest(p.serve_ids) AS serve_id, unnest(p.terms) AS terms,
          unnest(p.allotments) AS allotment, unnest(p.budget_days) AS budget_day
        FROM billing.charge_pack AS p
        WHERE p.serve_id >= public.first_uuid_of_span($1, 60000) AND p.serve_id < $2
          AND p.last_serve_id >= $1
      ) AS u
      WHERE u.serve_id >= $1 AND u.serve_id < $2
    ) AS c LEFT JOIN billing.counted AS d USING (partition)
    GROUP BY 1, 2, 3, 4, 5, 6, 7, 8
  ) AS s LEFT JOIN billing.terms AS t ON t.name = s.terms AND t.last_day >= public.day_of($1)
    CROSS JOIN LATERAL billing.amounts(s.kind, s.fate, t.impression_price, t.click_price, t.share_basis_points) AS a
$function$;

-- With their terms, of no older ones than these serves can name (14_terms), what they cost, and how that is split.
CREATE OR REPLACE FUNCTION billing.charges(first uuid, last uuid) RETURNS TABLE (serve_id uuid, kind smallint, id_hash bigint,
  partition int, batch_number bigint, event_time timestamptz, fate smallint, price bigint, amount bigint,
  developer_amount bigint, network_amount bigint, allotment bigint, budget_day int, draw_version bigint,
  share_basis_points int, app text, developer text, advertiser text, campaign text, ad text, placement text, country text,
  device smallint, size smallint, currency text)
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT s.serve_id, s.kind, s.id_hash, s.partition, s.batch_number, s.event_time, s.fate, a.price, a.amount,
    a.developer_amount, a.network_amount, s.allotment, s.budget_day, s.draw_version, t.share_basis_points, t.app, t.developer,
    t.advertiser, t.campaign, t.ad, s.placement, s.country, s.device, s.size, t.currency
  FROM billing.stored_charges($1, $2) AS s
    LEFT JOIN billing.terms AS t ON t.name = s.terms AND t.last_day >= public.day_of($1)
    CROSS JOIN LATERAL billing.amounts(s.kind, s.fate, t.impression_price, t.click_price, t.share_basis_points) AS a
$function$;

CREATE OR REPLACE VIEW billing.charge AS
SELECT * FROM billing.charges('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff');
COMMENT ON VIEW billing.charge IS
  'What became of each accepted live event (B5, I3), with its terms, what it costs, and how that is split: all of them. Whoever
looks for some by their serve ids calls the function billing.charges.';
COMMENT ON COLUMN billing.charge.price IS 'What the token says that the event costs, in billionths of the currency''s unit.';
COMMENT ON COLUMN billing.charge.amount IS 'What the advertiser pays.';
COMMENT ON COLUMN billing.charge.developer_amount IS 'What the developer gets (B2).';
COMMENT ON COLUMN billing.charge.network_amount IS 'What the network gets; below 0 where it bears the loss (B4).';

CREATE OR REPLACE VIEW billing.waiting AS
SELECT serve_id, kind, id_hash, partition, batch_number, event_time, vocabulary.charge_fate('waiting') AS fate, price,
  0::bigint AS amount, 0::bigint AS developer_amount, 0::bigint AS network_amount, allotment, budget_day,
  NULL::bigint AS draw_version, share_basis_points, app, developer, stored.advertiser, stored.campaign, ad, placement, country,
  device, size, stored.currency
FROM billing.waiting_row AS stored LEFT JOIN billing.terms AS t ON t.name = stored.terms;
CREATE OR REPLACE VIEW billing.held AS
SELECT serve_id, kind, id_hash, partition, batch_number, event_time, vocabulary.charge_fate('held') AS fate, price, amount,
  developer_amount, network_amount, allotment, budget_day, NULL::bigint AS draw_version, share_basis_points, t.app, developer,
  advertiser, campaign, ad, placement, country, device, size, currency, hour, reason
FROM billing.held_row AS stored LEFT JOIN billing.terms AS t ON t.name = stored.terms
  CROSS JOIN LATERAL billing.amounts(kind, vocabulary.charge_fate('held'), impression_price, click_price, share_basis_points);
COMMENT ON VIEW billing.held IS
  'Accepted events beyond a cap of their app''s hour (B8), as billing.charge will show them once a person has decided.';

COMMENT ON VIEW billing.waiting IS 'Accepted events that wait for budget, as billing.charge will show them.';
