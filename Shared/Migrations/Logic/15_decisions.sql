-- Decisions, wherever they lie: in rows of their own, or many in one (0045_decision_packs). Whoever reads them goes through
-- these functions, which the planner puts into the query that calls them, so their arguments are no queries. The lists of a
-- pack are as long as one another, and are taken apart side by side in a list of columns, which costs half of what they cost
-- in a FROM. Who asks for ids that stand in a row also says between which two seconds' ids all of them lie: the planner spares
-- the tables of other days by that alone.

-- Of packs: the decisions whose serve ids lie between two, both included. Those of a second lie in packs of that second.
CREATE OR REPLACE FUNCTION ad_selection.packed_decisions(
  first uuid, last uuid, lowest uuid DEFAULT '00000000-0000-0000-0000-000000000000',
  highest uuid DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff'
) RETURNS SETOF ad_selection.decision_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT d.serve_id, d.request_id, d.batch_number, d.client_hash, d.arrival,
    d.arrival + d.deadline_ms * interval '1 millisecond', d.allotment, d.terms, d.creative, d.reserved, d.rules,
    d.catalog_change, d.partition, d.budget_day, d.candidates, d.outbid, d.batch_index::int, d.required_sizes, d.device,
    d.size, d.outcome, d.reason, NULL::smallint, d.paid_ads, false, d.is_interstitial, d.country, d.placement,
    NULL::text, NULL::text, d.expected_value, d.excluded_reasons::smallint[], d.excluded_counts::int[], NULL::text[],
    d.edge_flags, d.edge_network
  FROM (
    SELECT p.batch_number, p.rules, p.catalog_change, p.partition, p.outcome, unnest(p.serve_ids) AS serve_id,
      unnest(p.request_ids) AS request_id, unnest(p.client_hashes) AS client_hash, unnest(p.arrivals) AS arrival,
      unnest(p.deadlines_ms) AS deadline_ms, unnest(p.allotments) AS allotment, unnest(p.terms) AS terms,
      unnest(p.creatives) AS creative, unnest(p.reserved) AS reserved, unnest(p.budget_days) AS budget_day,
      unnest(p.candidates) AS candidates, unnest(p.outbid) AS outbid, unnest(p.batch_indexes) AS batch_index,
      unnest(p.required_sizes) AS required_sizes, unnest(p.devices) AS device, unnest(p.sizes) AS size,
      unnest(p.reasons) AS reason, unnest(p.paid_ads) AS paid_ads, unnest(p.are_interstitial) AS is_interstitial,
      unnest(p.edge_flags) AS edge_flags, unnest(p.edge_networks) AS edge_network, unnest(p.countries) AS country,
      unnest(p.placements) AS placement, unnest(p.expected_values) AS expected_value,
      unnest(p.excluded_reasons) AS excluded_reasons, unnest(p.excluded_counts) AS excluded_counts
    FROM ad_selection.decision_pack AS p
    WHERE p.serve_id BETWEEN public.first_uuid_of_span($1, 1000) AND $2 AND p.last_serve_id >= $1
      AND p.serve_id BETWEEN $3 AND $4
  ) AS d
  WHERE d.serve_id BETWEEN $1 AND $2
$function$;

-- All of them with serve ids between two, both included, as rows.
CREATE OR REPLACE FUNCTION ad_selection.stored_decisions(
  first uuid, last uuid, lowest uuid DEFAULT '00000000-0000-0000-0000-000000000000',
  highest uuid DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff'
) RETURNS SETOF ad_selection.decision_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT r.* FROM ad_selection.decision_row AS r
  WHERE r.serve_id BETWEEN $1 AND $2 AND r.serve_id BETWEEN $3 AND $4
  UNION ALL
  SELECT p.* FROM ad_selection.packed_decisions($1, $2, $3, $4) AS p
$function$;

-- Packed decisions within a minute of the time that an id carries: those of a request id are among them.
CREATE OR REPLACE FUNCTION ad_selection.packed_around(id uuid) RETURNS SETOF ad_selection.decision_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT p.* FROM ad_selection.packed_decisions(
    public.first_uuid_apart($1, -60000), public.first_uuid_apart($1, 60000)) AS p
$function$;

-- All decisions of request ids from one on.
CREATE OR REPLACE FUNCTION ad_selection.requests_since(id uuid) RETURNS SETOF ad_selection.decision_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT r.* FROM ad_selection.decision_row AS r WHERE r.request_id >= $1
  UNION ALL
  SELECT p.* FROM ad_selection.packed_decisions(
    public.first_uuid_apart($1, -60000),
    'ffffffff-ffff-ffff-ffff-ffffffffffff') AS p
  WHERE p.request_id >= $1
$function$;

-- With the terms of what was served, and what it shows and does: of no older ones than these serves can name (14_terms).
CREATE OR REPLACE FUNCTION ad_selection.decisions(
  first uuid, last uuid, lowest uuid DEFAULT '00000000-0000-0000-0000-000000000000',
  highest uuid DEFAULT 'ffffffff-ffff-ffff-ffff-ffffffffffff'
) RETURNS TABLE (serve_id uuid, partition int, expires_at timestamptz, app text, developer text, advertiser text,
  campaign text, ad text, placement text, country text, device smallint, size smallint, impression_price bigint,
  click_price bigint, currency text, share_basis_points int, allotment bigint, budget_day int, client_hash bigint,
  is_test boolean, batch_number bigint, request_id uuid, arrival timestamptz, deadline timestamptz, outcome smallint,
  reason smallint, error smallint, detail text, lifetime_milliseconds bigint, image_sizes smallint[], image_urls text[],
  action smallint, destination text, reserved bigint, expected_value numeric, candidates int, outbid int,
  excluded_reasons smallint[], excluded_counts int[], batch_index int, rules bigint, catalog_change bigint,
  paid_ads smallint, required_sizes int, segments text[], is_interstitial boolean, edge_flags smallint, edge_network int)
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT s.serve_id, s.partition, public.time_of(s.serve_id) + t.life_ms * interval '1 millisecond',
    coalesce(s.app, t.app), t.developer, t.advertiser, t.campaign, t.ad, s.placement, s.country, s.device, s.size,
    t.impression_price, t.click_price, t.currency, t.share_basis_points, s.allotment, s.budget_day, s.client_hash,
    s.is_test, s.batch_number, s.request_id, s.arrival, s.deadline, s.outcome, s.reason, s.error, s.detail,
    c.lifetime_milliseconds, c.image_sizes, c.image_urls, c.action, c.destination, s.reserved, s.expected_value,
    s.candidates, s.outbid, coalesce(s.excluded_reasons, '{}'), coalesce(s.excluded_counts, '{}'), s.batch_index, s.rules,
    s.catalog_change, s.paid_ads, s.required_sizes, s.segments, s.is_interstitial, s.edge_flags, s.edge_network
  FROM ad_selection.stored_decisions($1, $2, $3, $4) AS s LEFT JOIN ad_selection.terms AS t
      ON t.name = s.terms AND t.last_day >= public.day_of($1)
    LEFT JOIN ad_selection.creative AS c ON c.name = s.creative AND c.last_day >= public.day_of($1)
$function$;

-- What is added up of decisions: of packs three lists are taken apart for it, not all. A comparison of a day looks at
-- nothing else of most of them.
CREATE OR REPLACE FUNCTION ad_selection.outcomes(first uuid, last uuid) RETURNS TABLE (serve_id uuid, partition int,
  batch_number bigint, expires_at timestamptz, app text, reason smallint, is_test boolean)
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT s.serve_id, s.partition, s.batch_number, public.time_of(s.serve_id) + t.life_ms * interval '1 millisecond',
    coalesce(s.app, t.app), s.reason, s.is_test
  FROM (
    SELECT r.serve_id, r.partition, r.batch_number, r.app, r.terms, r.reason, r.is_test
    FROM ad_selection.decision_row AS r WHERE r.serve_id BETWEEN $1 AND $2
    UNION ALL
    SELECT d.serve_id, d.partition, d.batch_number, NULL, d.terms, d.reason, false
    FROM (
      SELECT p.partition, p.batch_number, unnest(p.serve_ids) AS serve_id, unnest(p.terms) AS terms,
        unnest(p.reasons) AS reason
      FROM ad_selection.decision_pack AS p
      WHERE p.serve_id BETWEEN public.first_uuid_of_span($1, 1000) AND $2 AND p.last_serve_id >= $1
    ) AS d
    WHERE d.serve_id BETWEEN $1 AND $2
  ) AS s LEFT JOIN ad_selection.terms AS t ON t.name = s.terms AND t.last_day >= public.day_of($1)
$function$;

CREATE OR REPLACE VIEW ad_selection.decision AS
SELECT * FROM ad_selection.decisions('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff');
COMMENT ON VIEW ad_selection.decision IS 'Decisions with the terms of what was served, and what it shows and does: all of
them. Whoever looks for some by their serve ids calls the function ad_selection.decisions.';
