-- Terms by content: what the terms of many serves have in common is stored once, under a name made of it, and rows hold the
-- name and what is the event's own. Columns of eight bytes come first, so that none is padded.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      CREATE TABLE %I.terms (
        -- The first 8 bytes of the SHA-256 of everything below but last_day.
        name bigint PRIMARY KEY,
        -- The latest day, in UTC, of the serves whose rows may name it: it goes with the tables of that day.
        last_day date NOT NULL,
        app text NOT NULL,
        developer text NOT NULL,
        advertiser text NOT NULL,
        campaign text NOT NULL,
        ad text NOT NULL,
        impression_price bigint NOT NULL,
        click_price bigint NOT NULL,
        currency text NOT NULL,
        share_basis_points int NOT NULL,
        -- From the decision to the last event time at which an impression counts.
        life_ms bigint NOT NULL,
        is_test boolean NOT NULL
      );
    $ddl$, service);
  END LOOP;
END
$do$;

CREATE TABLE impression_tracking.impression_row (
  serve_id uuid NOT NULL,
  batch_number bigint NOT NULL,
  sequence bigint NOT NULL,
  event_time timestamptz NOT NULL,
  arrival timestamptz NOT NULL,
  allotment bigint NOT NULL,
  client_hash bigint NOT NULL,
  terms bigint NOT NULL,
  partition int NOT NULL,
  budget_day int NOT NULL,
  device smallint NOT NULL,
  size smallint NOT NULL,
  is_test boolean NOT NULL,
  country text NOT NULL,
  placement text NOT NULL,
  PRIMARY KEY (serve_id)
) PARTITION BY RANGE (serve_id);

CREATE TABLE impression_tracking.delivery_row (
  serve_id uuid NOT NULL,
  batch_number bigint NOT NULL,
  event_time timestamptz NOT NULL,
  terms bigint NOT NULL,
  partition int NOT NULL,
  kind smallint NOT NULL,
  error smallint,
  device smallint NOT NULL,
  size smallint NOT NULL,
  is_test boolean NOT NULL,
  country text NOT NULL,
  placement text NOT NULL,
  PRIMARY KEY (serve_id, kind)
) PARTITION BY RANGE (serve_id);

-- What is stored moves there. Names are made here as later ones are by the services.
DO $do$
DECLARE
  day record;
BEGIN
  FOR day IN
    SELECT parent.relname || '_row' AS parent, parent.relname || '_row_' || right(c.relname, 8) AS name,
      pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class parent ON parent.oid = i.inhparent
    WHERE parent.oid IN ('impression_tracking.impression'::regclass, 'impression_tracking.delivery'::regclass)
  LOOP
    EXECUTE format('CREATE TABLE impression_tracking.%I PARTITION OF impression_tracking.%I %s', day.name, day.parent,
      day.bounds);
  END LOOP;
END
$do$;

CREATE FUNCTION pg_temp.moment(id uuid) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT timestamptz 'epoch'
    + ('x' || encode(substr(uuid_send(id), 1, 6), 'hex'))::bit(48)::bigint * interval '1 millisecond'
$function$;
CREATE FUNCTION pg_temp.name(app text, developer text, advertiser text, campaign text, ad text, impression_price bigint,
  click_price bigint, currency text, share_basis_points int, life_ms bigint, is_test boolean)
RETURNS bigint LANGUAGE sql IMMUTABLE AS $function$
  SELECT ('x' || encode(substr(sha256(convert_to(concat_ws('/', app, developer, advertiser, campaign, ad, impression_price,
    click_price, currency, share_basis_points, life_ms, is_test), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint
$function$;

CREATE TEMPORARY TABLE named ON COMMIT DROP AS
SELECT *, pg_temp.name(app, developer, advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points,
  life_ms, is_test) AS name
FROM (
  SELECT *, (extract(epoch FROM expires_at - pg_temp.moment(serve_id)) * 1000)::bigint AS life_ms
  FROM impression_tracking.impression
) AS impression;
INSERT INTO impression_tracking.terms
SELECT name, max((pg_temp.moment(serve_id) AT TIME ZONE 'UTC')::date), app, developer, advertiser, campaign, ad,
  impression_price, click_price, currency, share_basis_points, life_ms, is_test
FROM named
GROUP BY name, app, developer, advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points, life_ms,
  is_test;
INSERT INTO impression_tracking.impression_row
SELECT serve_id, batch_number, sequence, event_time, arrival, allotment, client_hash, name, partition, budget_day, device,
  size, is_test, country, placement
FROM named;
DROP TABLE named;

-- Of what devices told besides, only names were kept: such terms have no parties and no prices.
CREATE TEMPORARY TABLE named ON COMMIT DROP AS
SELECT *, pg_temp.name(app, '', '', campaign, ad, 0, 0, '', 0, 0, is_test) AS name FROM impression_tracking.delivery;
INSERT INTO impression_tracking.terms
SELECT name, max((pg_temp.moment(serve_id) AT TIME ZONE 'UTC')::date), app, '', '', campaign, ad, 0, 0, '', 0, 0, is_test
FROM named GROUP BY name, app, campaign, ad, is_test;
INSERT INTO impression_tracking.delivery_row
SELECT serve_id, batch_number, event_time, name, partition, kind, error, device, size, is_test, country, placement
FROM named;
DROP TABLE named;

-- With the views that read them: views of the same names are made again in their place.
DROP TABLE impression_tracking.impression CASCADE;
DROP TABLE impression_tracking.delivery CASCADE;
