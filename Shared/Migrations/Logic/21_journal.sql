-- Writes the rows of a batch's draws with their fates, and of those that waited and wait no more, what they add to the
-- minutes, and the batch's one journal: what the caller decided by itself (the postings) and what the draws come to.
CREATE OR REPLACE FUNCTION billing.write_journal(
  batch billing.settle_batch, fates billing.settle_fate[], readied billing.settle_ready[],
  postings billing.settle_posting[]
) RETURNS void LANGUAGE plpgsql AS $function$
#variable_conflict use_column
DECLARE
  drawn_count bigint;
  ready_count bigint;
BEGIN
  WITH drawn AS (
    DELETE FROM billing.draw WHERE partition = batch.partition AND batch_number = batch.batch_number RETURNING *
  ), ready AS (
    DELETE FROM billing.waiting w
    USING unnest(readied) AS r
    WHERE w.partition = batch.partition AND w.batch_number = r.batch_number AND w.position = r.position
    RETURNING w.*, r.fate AS new_fate, r.version AS new_version
  ), waits AS (
    INSERT INTO billing.waiting (serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, fate,
      price, amount, developer_amount, network_amount, allotment, budget_day, share_basis_points, app, developer,
      advertiser, campaign, ad, placement, country, device, size, currency, position)
    SELECT serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, (fates[position]).fate, price, 0,
      developer_amount, 0, allotment, budget_day, share_basis_points, app, developer, advertiser, campaign, ad,
      placement, country, device, size, currency, position
    FROM drawn WHERE (fates[position]).fate = vocabulary.charge_fate('waiting')
  ), settled AS (
    INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, sequence, event_time, arrival, fate,
      price, amount, developer_amount, network_amount, allotment, budget_day, draw_version, share_basis_points, app,
      developer, advertiser, campaign, ad, placement, country, device, size, currency)
    SELECT d.serve_id, d.kind, d.id_hash, batch.partition, batch.batch_number, d.sequence, d.event_time, d.arrival,
      d.new_fate, d.price, CASE d.new_fate WHEN vocabulary.charge_fate('charged') THEN d.price ELSE 0 END,
      CASE WHEN d.new_fate IN (vocabulary.charge_fate('charged'), vocabulary.charge_fate('unfunded'))
        THEN d.developer_amount ELSE 0 END,
      CASE d.new_fate WHEN vocabulary.charge_fate('charged') THEN d.price - d.developer_amount
        WHEN vocabulary.charge_fate('unfunded') THEN -d.developer_amount ELSE 0 END,
      d.allotment, d.budget_day, d.new_version, d.share_basis_points, d.app, d.developer, d.advertiser, d.campaign,
      d.ad, d.placement, d.country, d.device, d.size, d.currency
    FROM (
      SELECT *, (fates[position]).fate AS new_fate, (fates[position]).version AS new_version FROM drawn
      WHERE (fates[position]).fate <> vocabulary.charge_fate('waiting')
      UNION ALL SELECT * FROM ready
    ) AS d
    RETURNING *
  ), counted AS (
    -- A batch's process cannot know these fates: what they add is appended here, and the process counts the others
    -- (those without a draw's version).
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad,
      placement, country, device, size, currency, events, gross, developer_amount, network_amount)
    SELECT batch.partition, date_trunc('minute', event_time, 'UTC'), kind, fate, app, developer, advertiser, campaign,
      ad, placement, country, device, size, currency, count(*), sum(amount), sum(developer_amount), sum(network_amount)
    FROM settled GROUP BY 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
  ), entries AS (
    SELECT account, currency, sum(debit) AS debit, sum(credit) AS credit FROM (
      SELECT e.account, s.currency, e.debit::numeric, e.credit::numeric FROM settled s CROSS JOIN LATERAL (VALUES
        ('advertiser:' || s.advertiser, s.amount, 0::bigint),
        ('developer:' || s.developer, 0, s.developer_amount),
        ('network:revenue', 0, greatest(s.network_amount, 0)),
        ('network:unfunded', greatest(-s.network_amount, 0), 0)) AS e (account, debit, credit)
      UNION ALL
      SELECT * FROM unnest(postings)
    ) AS e (account, currency, debit, credit) GROUP BY account, currency HAVING sum(debit) + sum(credit) > 0
  ), posted AS (
    INSERT INTO billing.posting (partition, batch_number, account, currency, debit, credit)
    SELECT batch.partition, batch.batch_number, account, currency, debit, credit FROM entries
  ), balanced AS (
    INSERT INTO billing.balance AS b (partition, account, currency, debit, credit)
    SELECT batch.partition, account, currency, debit, credit FROM entries
    ON CONFLICT (partition, account, currency)
    DO UPDATE SET debit = b.debit + excluded.debit, credit = b.credit + excluded.credit
  )
  SELECT (SELECT count(*) FROM drawn), (SELECT count(*) FROM ready) INTO drawn_count, ready_count;
  IF drawn_count <> cardinality(fates) OR ready_count <> cardinality(readied) THEN
    RAISE EXCEPTION '% draws and % that waited are to be settled, % and % are there', cardinality(fates),
      cardinality(readied), drawn_count, ready_count USING ERRCODE = 'HB002';
  END IF;
  -- What waits will be a charge: an event that no day's table would take is refused now, alone, and not then.
  IF EXISTS (
    SELECT FROM billing.waiting WHERE partition = batch.partition AND batch_number = batch.batch_number
      AND to_regclass('billing.charge_' || to_char(public.day_of(serve_id), 'YYYYMMDD')) IS NULL
  ) THEN
    RAISE EXCEPTION 'there is no table for the day of a charge that waits' USING ERRCODE = '23514';
  END IF;
END
$function$;
