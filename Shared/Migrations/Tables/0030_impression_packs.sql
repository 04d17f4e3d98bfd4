-- When ads were seen, for the few that are tapped: many in a row. A row for each cost 60 bytes and a key of 31, beside 24 that it
-- says. Only those of one second lie together, so that whoever looks for one knows where.
CREATE TABLE click_tracking.impression_pack (
  -- The lowest and the highest of its ids.
  serve_id uuid NOT NULL,
  last_serve_id uuid NOT NULL,
  partition int NOT NULL,
  -- In order, and when each was shown.
  serve_ids uuid[] NOT NULL,
  shown_at timestamptz[] NOT NULL,
  PRIMARY KEY (serve_id, partition),
  CONSTRAINT impression_pack_is_whole CHECK (cardinality(serve_ids) = cardinality(shown_at))
) PARTITION BY RANGE (serve_id);

DO $do$
DECLARE
  day record;
BEGIN
  FOR day IN
    SELECT right(c.relname, 8) AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'click_tracking.impression'::regclass
  LOOP
    EXECUTE format('CREATE TABLE click_tracking.%I PARTITION OF click_tracking.impression_pack %s',
      'impression_pack_' || day.name, day.bounds);
  END LOOP;
END
$do$;

INSERT INTO click_tracking.impression_pack (serve_id, last_serve_id, partition, serve_ids, shown_at)
SELECT (array_agg(serve_id ORDER BY serve_id))[1], (array_agg(serve_id ORDER BY serve_id DESC))[1], partition,
  array_agg(serve_id ORDER BY serve_id), array_agg(shown_at ORDER BY serve_id)
FROM (
  SELECT *, ('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint / 1000 AS second
  FROM click_tracking.impression
) AS impression
GROUP BY partition, second;
DROP TABLE click_tracking.impression;
