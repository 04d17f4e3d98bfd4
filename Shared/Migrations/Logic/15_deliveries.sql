-- What devices told of how ads were drawn, wherever it lies: in rows of its own, or many in one (0057_delivery_packs). Whoever
-- reads it goes through these functions, which the planner puts into the query that calls them, so their arguments are no
-- queries.

-- All with serve ids between two, both included, as rows. Those of a second lie in packs of that second.
CREATE OR REPLACE FUNCTION impression_tracking.stored_deliveries(first uuid, last uuid)
RETURNS SETOF impression_tracking.delivery_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT r.* FROM impression_tracking.delivery_row AS r WHERE r.serve_id BETWEEN $1 AND $2
  UNION ALL
  SELECT d.serve_id, d.batch_number, d.event_time, d.terms, d.partition, d.kind, (-1)::smallint, d.device, d.size, false,
    d.country, d.placement
  FROM (
    SELECT p.batch_number, p.partition, p.kind, unnest(p.serve_ids) AS serve_id, unnest(p.event_times) AS event_time,
      unnest(p.terms) AS terms, unnest(p.devices) AS device, unnest(p.sizes) AS size, unnest(p.countries) AS country,
      unnest(p.placements) AS placement
    FROM impression_tracking.delivery_pack AS p
    WHERE p.serve_id BETWEEN public.first_uuid_of_span($1, 1000) AND $2 AND p.last_serve_id >= $1
  ) AS d
  WHERE d.serve_id BETWEEN $1 AND $2
$function$;

-- All of a partition in rows and packs that have these keys.
CREATE OR REPLACE FUNCTION impression_tracking.keyed_deliveries(of_partition int, keys uuid[])
RETURNS SETOF impression_tracking.delivery_row
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT r.* FROM impression_tracking.delivery_row AS r WHERE r.serve_id = ANY ($2) AND r.partition = $1
  UNION ALL
  SELECT unnest(p.serve_ids), p.batch_number, unnest(p.event_times), unnest(p.terms), p.partition, p.kind, (-1)::smallint,
    unnest(p.devices), unnest(p.sizes), false, unnest(p.countries), unnest(p.placements)
  FROM impression_tracking.delivery_pack AS p WHERE p.serve_id = ANY ($2) AND p.partition = $1
$function$;

-- With the names of what was shown.
CREATE OR REPLACE FUNCTION impression_tracking.deliveries(first uuid, last uuid) RETURNS TABLE (serve_id uuid, kind smallint,
  error smallint, partition int, batch_number bigint, event_time timestamptz, app text, campaign text, ad text,
  placement text, country text, size smallint, device smallint, is_test boolean)
LANGUAGE sql STABLE PARALLEL SAFE AS $function$
  SELECT s.serve_id, s.kind, nullif(s.error, (-1)::smallint), s.partition, s.batch_number, s.event_time, t.app, t.campaign,
    t.ad, s.placement, s.country, s.size, s.device, s.is_test
  FROM impression_tracking.stored_deliveries($1, $2) AS s LEFT JOIN impression_tracking.terms AS t ON t.name = s.terms
$function$;

CREATE OR REPLACE VIEW impression_tracking.delivery AS
SELECT * FROM impression_tracking.deliveries(
  '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff');
COMMENT ON VIEW impression_tracking.delivery IS 'Rendered, unloaded and failed ads with their names: all of them. Whoever
looks for some by their serve ids calls the function impression_tracking.deliveries.';
