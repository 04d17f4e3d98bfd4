-- What is in suspense says why, and has a way out: a person has it tried again (billing.retry_suspended), or voids it. A
-- voided event keeps its row, which is its fate: nobody pays and nobody is paid.
ALTER TABLE billing.suspense ADD COLUMN reason text NOT NULL DEFAULT 'not recorded',
  ADD COLUMN voided_at timestamptz, ADD COLUMN void_reason text,
  ADD CONSTRAINT suspense_void_has_reason CHECK ((voided_at IS NULL) = (void_reason IS NULL));
CREATE INDEX suspense_serve ON billing.suspense (serve_id);
COMMENT ON COLUMN billing.suspense.reason IS 'Why the event could not be charged, in the database''s words.';
COMMENT ON COLUMN billing.suspense.voided_at IS 'When a person decided that nobody pays it; null while it waits for one.';
COMMENT ON COLUMN billing.suspense.void_reason IS 'Why, in that person''s words.';

-- What sealed charges gave to the network, and cost it, is compared as well: of days that are sealed already it is what was
-- posted less what the charges of open days say.
DO $do$
BEGIN
  IF (SELECT open_from > 'epoch' FROM sealed.head) THEN
    INSERT INTO sealed.account AS a (partition, account, currency, charged, debit, credit)
    SELECT b.partition, b.account, b.currency, b.debit - b.credit - coalesce(c.net, 0), 0, 0
    FROM billing.balance b LEFT JOIN (
      SELECT partition, 'network:' || side AS account, currency,
        sum(CASE side WHEN 'unfunded' THEN part ELSE part - price END) AS net
      FROM (
        SELECT partition, side, currency, price,
          price / 10000 * share_basis_points + (price % 10000 * share_basis_points + 5000) / 10000 AS part
        FROM (
          SELECT r.partition, t.currency, t.share_basis_points,
            CASE r.fate WHEN vocabulary.charge_fate('charged') THEN 'revenue' ELSE 'unfunded' END AS side,
            CASE r.kind WHEN vocabulary.charge_kind('impression') THEN t.impression_price ELSE t.click_price END AS price
          FROM billing.charge_row r JOIN billing.terms t ON t.name = r.terms, sealed.head h
          WHERE r.serve_id >= public.first_uuid_at(h.open_from)
            AND r.fate IN (vocabulary.charge_fate('charged'), vocabulary.charge_fate('unfunded'))
        ) AS priced
      ) AS parts GROUP BY 1, 2, 3
    ) AS c USING (partition, account, currency)
    WHERE b.account LIKE 'network:%'
    ON CONFLICT (partition, account, currency) DO UPDATE SET charged = excluded.charged;
    UPDATE sealed.head SET digest = sealed.digest();
  END IF;
END
$do$;
