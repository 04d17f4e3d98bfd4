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

CREATE OR REPLACE VIEW billing.charge AS
SELECT serve_id, kind, id_hash, partition, batch_number, event_time, fate, price, amount, developer_amount, network_amount,
  allotment, budget_day, draw_version, share_basis_points, app, developer, advertiser, campaign, ad, placement, country, device,
  size, currency
FROM billing.charge_row AS stored LEFT JOIN billing.terms AS t ON t.name = stored.terms
  CROSS JOIN LATERAL billing.amounts(kind, fate, impression_price, click_price, share_basis_points);
COMMENT ON VIEW billing.charge IS
  'What became of each accepted live event (B5, I3), with its terms, what it costs, and how that is split.';
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
