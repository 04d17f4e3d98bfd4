-- Terms by content, as the other services have them: charges, and events that wait for budget, name their terms and hold what
-- is the event's own. Prices follow from the terms, amounts and their split from terms and fate (billing.amounts), so that no
-- row can say anything else; when an event arrived, and its sequence, stand in its tracker's row of the same serve. Columns of
-- eight bytes come first, so that none is padded.
CREATE TABLE billing.charge_row (
  serve_id uuid NOT NULL,
  -- Of the batch that gave the fate, which is the number of the journal.
  batch_number bigint NOT NULL,
  event_time timestamptz NOT NULL,
  -- Which click of the serve; 0 for the impression.
  id_hash bigint NOT NULL,
  terms bigint NOT NULL,
  allotment bigint NOT NULL,
  -- The account's version, where free budget was drawn on.
  draw_version bigint,
  partition int NOT NULL,
  budget_day int NOT NULL,
  kind smallint NOT NULL,
  fate smallint NOT NULL,
  device smallint NOT NULL,
  size smallint NOT NULL,
  country text NOT NULL,
  placement text NOT NULL,
  PRIMARY KEY (serve_id, kind, id_hash)
) PARTITION BY RANGE (serve_id);
COMMENT ON COLUMN billing.charge_row.allotment IS
  'The allotment that paid; where none did, the one that the ad was sold from.';

-- Accepted events that wait for budget. Each is charged, or unfunded, at the latest when the last allotment that could return
-- some has ended. batch_number and position are the order in which they began to wait. What is looked for by budget has what
-- it takes and from where in columns of its own.
CREATE TABLE billing.waiting_row (
  serve_id uuid NOT NULL,
  batch_number bigint NOT NULL,
  event_time timestamptz NOT NULL,
  id_hash bigint NOT NULL,
  terms bigint NOT NULL,
  allotment bigint NOT NULL,
  price bigint NOT NULL CHECK (price >= 0),
  partition int NOT NULL,
  budget_day int NOT NULL,
  position int NOT NULL,
  kind smallint NOT NULL,
  device smallint NOT NULL,
  size smallint NOT NULL,
  advertiser text COLLATE "C" NOT NULL,
  campaign text COLLATE "C" NOT NULL,
  currency text COLLATE "C" NOT NULL,
  country text NOT NULL,
  placement text NOT NULL,
  PRIMARY KEY (partition, batch_number, position)
);
CREATE INDEX waiting_row_serve ON billing.waiting_row (serve_id);
CREATE INDEX waiting_row_place ON billing.waiting_row (partition, campaign, budget_day, batch_number, position);

-- What is stored moves there. Names are made here as later ones are by the service. Of the two prices in an event's terms only
-- its own was kept, and not how long its ad lived.
DO $do$
DECLARE
  day record;
BEGIN
  FOR day IN
    SELECT right(c.relname, 8) AS name, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'billing.charge'::regclass
  LOOP
    EXECUTE format('CREATE TABLE billing.%I PARTITION OF billing.charge_row %s', 'charge_row_' || day.name, day.bounds);
  END LOOP;
END
$do$;

-- The vocabulary of the program's own is made later.
CREATE FUNCTION pg_temp.charge(word text) RETURNS smallint LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE word WHEN 'impression' THEN 1 WHEN 'click' THEN 2 WHEN 'charged' THEN 1 WHEN 'unfunded' THEN 2 END::smallint
$function$;

CREATE TEMPORARY TABLE named ON COMMIT DROP AS
SELECT *, ('x' || encode(substr(sha256(convert_to(concat_ws('/', app, developer, advertiser, campaign, ad, impression_price,
    click_price, currency, share_basis_points, 0, false), 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint AS name,
  date '1970-01-01' + (('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint / 86400000)::int AS day
FROM (
  SELECT *, CASE kind WHEN pg_temp.charge('impression') THEN price ELSE 0 END AS impression_price,
    CASE kind WHEN pg_temp.charge('click') THEN price ELSE 0 END AS click_price
  FROM (
    SELECT *, NULL::int AS position FROM billing.charge UNION ALL SELECT * FROM billing.waiting
  ) AS events
) AS priced;

-- Money is never changed by moving it.
DO $do$
BEGIN
  IF EXISTS (
    SELECT FROM named CROSS JOIN LATERAL (
      SELECT price / 10000 * share_basis_points + (price % 10000 * share_basis_points + 5000) / 10000 AS part) AS split
    WHERE position IS NULL AND (amount, developer_amount, network_amount) IS DISTINCT FROM (
      CASE fate WHEN pg_temp.charge('charged') THEN price ELSE 0 END,
      CASE WHEN fate IN (pg_temp.charge('charged'), pg_temp.charge('unfunded')) THEN part ELSE 0 END,
      CASE fate WHEN pg_temp.charge('charged') THEN price - part WHEN pg_temp.charge('unfunded') THEN -part ELSE 0 END)
  ) THEN
    RAISE EXCEPTION 'a charge has another amount than follows from its price, share and fate: see handbill reconcile';
  END IF;
END
$do$;

INSERT INTO billing.terms
SELECT name, max(day), app, developer, advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points, 0,
  false
FROM named GROUP BY name, app, developer, advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points;
INSERT INTO billing.charge_row (serve_id, batch_number, event_time, id_hash, terms, allotment, draw_version, partition,
  budget_day, kind, fate, device, size, country, placement)
SELECT serve_id, batch_number, event_time, id_hash, name, allotment, draw_version, partition, budget_day, kind, fate, device,
  size, country, placement
FROM named WHERE position IS NULL;
INSERT INTO billing.waiting_row (serve_id, batch_number, event_time, id_hash, terms, allotment, price, partition, budget_day,
  position, kind, device, size, advertiser, campaign, currency, country, placement)
SELECT serve_id, batch_number, event_time, id_hash, name, allotment, price, partition, budget_day, position, kind, device, size,
  advertiser, campaign, currency, country, placement
FROM named WHERE position IS NOT NULL;
DROP TABLE named;

-- With the views that read them: views of the same names are made again in their place.
DROP TABLE billing.charge CASCADE;
DROP TABLE billing.waiting CASCADE;

-- What draws on free budget is no row until its fate is known: a settlement is told all of it.
DROP TABLE billing.draw;
DROP FUNCTION IF EXISTS billing.write_journal(billing.settle_batch, billing.settle_fate[], billing.settle_ready[],
  billing.settle_posting[]);
ALTER TYPE billing.settle_draw ADD ATTRIBUTE serve_id uuid, ADD ATTRIBUTE event_time timestamptz, ADD ATTRIBUTE id_hash bigint,
  ADD ATTRIBUTE terms bigint, ADD ATTRIBUTE allotment bigint, ADD ATTRIBUTE kind smallint, ADD ATTRIBUTE device smallint,
  ADD ATTRIBUTE size smallint, ADD ATTRIBUTE country text, ADD ATTRIBUTE placement text;
