-- A batch's one journal: its postings, one of each account, and what they add to the partition's balances.
CREATE OR REPLACE FUNCTION billing.write_postings(batch billing.settle_batch, journal billing.settle_posting[]) RETURNS void
LANGUAGE plpgsql AS $function$
BEGIN
  INSERT INTO billing.posting (partition, batch_number, account, currency, debit, credit)
  SELECT batch.partition, batch.batch_number, e.* FROM unnest(journal) AS e WHERE e.debit + e.credit > 0;
  INSERT INTO billing.balance AS b (partition, account, currency, debit, credit)
  SELECT batch.partition, e.* FROM unnest(journal) AS e WHERE e.debit + e.credit > 0
  ON CONFLICT (partition, account, currency)
  DO UPDATE SET debit = b.debit + excluded.debit, credit = b.credit + excluded.credit;
END
$function$;

-- A charge as postings: the advertiser pays what the developer and the network get; what the network loses by it is a debit of
-- its own account for that.
CREATE OR REPLACE FUNCTION billing.charge_postings(
  advertiser text, developer text, amount bigint, developer_amount bigint, network_amount bigint
) RETURNS TABLE (account text, debit bigint, credit bigint) LANGUAGE sql IMMUTABLE AS $function$
  VALUES ('advertiser:' || advertiser, amount, 0::bigint), ('developer:' || developer, 0, developer_amount),
    ('network:revenue', 0, greatest(network_amount, 0)), ('network:unfunded', greatest(-network_amount, 0), 0)
$function$;

-- Writes the rows of a batch's draws with their fates, and of those that waited and wait no more, and what they add to the
-- minutes. Says how many of both there were, and whether each that waits is of a day that has its table; and gives the
-- batch's one journal: what the caller decided by itself (the postings) and what the draws come to.
CREATE OR REPLACE FUNCTION billing.write_fates(
  batch billing.settle_batch, settlement billing.settlement, draws billing.settle_draw[], postings billing.settle_posting[],
  OUT drawn_count bigint, OUT ready_count bigint, OUT have_days boolean, OUT journal billing.settle_posting[]
) LANGUAGE plpgsql AS $function$
#variable_conflict use_column
BEGIN
  WITH drawn AS (
    SELECT * FROM billing.fated_draws(settlement, draws)
  ), ready AS (
    DELETE FROM billing.waiting_row w USING unnest(settlement.ready) AS r
    WHERE w.partition = batch.partition AND w.batch_number = r.batch_number AND w.position = r.position
    RETURNING w.*, r.fate, r.version
  ), waits AS (
    INSERT INTO billing.waiting_row (serve_id, batch_number, event_time, id_hash, terms, allotment, price, partition,
      budget_day, position, kind, device, size, advertiser, campaign, currency, country, placement)
    SELECT serve_id, batch.batch_number, event_time, id_hash, terms, allotment, price, batch.partition, budget_day, index,
      kind, device, size, advertiser, campaign, currency, country, placement
    FROM drawn WHERE fate = vocabulary.charge_fate('waiting')
    RETURNING serve_id
  ), settled AS (
    INSERT INTO billing.charge_row (serve_id, batch_number, event_time, id_hash, terms, allotment, draw_version, partition,
      budget_day, kind, fate, device, size, country, placement)
    SELECT serve_id, batch.batch_number, event_time, id_hash, terms, allotment, version, batch.partition, budget_day, kind, fate,
      device, size, country, placement
    FROM drawn WHERE fate <> vocabulary.charge_fate('waiting')
    UNION ALL
    SELECT serve_id, batch.batch_number, event_time, id_hash, terms, allotment, version, batch.partition, budget_day, kind, fate,
      device, size, country, placement
    FROM ready
    RETURNING *
  ), priced AS (
    -- Were a row's terms not there, it would count for no app: an error.
    SELECT s.*, t.* FROM settled AS s LEFT JOIN LATERAL billing.priced_terms(s.terms, s.kind, s.fate) AS t ON true
  ), counted AS (
    -- A batch's process cannot know these fates: what they add is appended here, and the process counts the others
    -- (those without a draw's version).
    INSERT INTO billing.minute_revenue (partition, minute, kind, fate, app, developer, advertiser, campaign, ad,
      placement, country, device, size, currency, events, gross, developer_amount, network_amount)
    SELECT batch.partition, date_trunc('minute', event_time, 'UTC'), kind, fate, app, developer, advertiser, campaign,
      ad, placement, country, device, size, currency, count(*), sum(amount), sum(developer_amount), sum(network_amount)
    FROM priced GROUP BY 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14
  ), entries AS (
    SELECT account, currency, sum(debit) AS debit, sum(credit) AS credit FROM (
      SELECT e.account, p.currency, e.debit::numeric, e.credit::numeric FROM priced p CROSS JOIN LATERAL
        billing.charge_postings(p.advertiser, p.developer, p.amount, p.developer_amount, p.network_amount) AS e
      UNION ALL
      SELECT * FROM unnest(postings)
    ) AS e (account, currency, debit, credit) GROUP BY account, currency HAVING sum(debit) + sum(credit) > 0
  )
  SELECT (SELECT count(*) FROM drawn), (SELECT count(*) FROM ready),
    NOT EXISTS (
      SELECT FROM waits WHERE NOT (SELECT public.days_with_tables('billing.charge_row')) @> public.day_of(serve_id)),
    (SELECT array_agg(ROW(account, currency, debit, credit)::billing.settle_posting) FROM entries)
  INTO drawn_count, ready_count, have_days, journal;
END
$function$;

-- Writes what a settlement decided about draws and what waited, and the batch's journal; all of it, or it is an error.
CREATE OR REPLACE FUNCTION billing.write_journal(
  batch billing.settle_batch, settlement billing.settlement, draws billing.settle_draw[], postings billing.settle_posting[]
) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  written record := billing.write_fates(batch, settlement, draws, postings);
BEGIN
  PERFORM billing.write_postings(batch, written.journal);
  IF written.drawn_count <> cardinality(draws) OR written.ready_count <> cardinality(settlement.ready) THEN
    RAISE EXCEPTION '% draws and % that waited are to be settled, % and % are there', cardinality(draws),
      cardinality(settlement.ready), written.drawn_count, written.ready_count USING ERRCODE = 'HB002';
  END IF;
  -- What waits will be a charge: an event that no day's table would take is refused now, alone, and not then.
  IF NOT written.have_days THEN
    RAISE EXCEPTION 'there is no table for the day of a charge that waits' USING ERRCODE = '23514';
  END IF;
END
$function$;

-- Removes journals whose batches are gone, which went because they were sealed: at most `most` postings, so that no transaction
-- is long. Says how many went.
CREATE OR REPLACE FUNCTION billing.forget_journals(most int) RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  kept record;
  gone bigint;
  total bigint := 0;
BEGIN
  PERFORM public.hold_service('billing');
  -- One instance is enough.
  IF NOT pg_try_advisory_xact_lock(hashtext('forget_journals'), 0) THEN RETURN 0; END IF;
  FOR kept IN
    SELECT p.partition, b.batch_number FROM billing.partition p CROSS JOIN LATERAL (
      SELECT batch_number FROM billing.batch WHERE partition = p.partition ORDER BY batch_number LIMIT 1) AS b
    ORDER BY p.partition
  LOOP
    DELETE FROM billing.posting WHERE (partition, batch_number, account, currency) IN (
      SELECT partition, batch_number, account, currency FROM billing.posting
      WHERE partition = kept.partition AND batch_number < kept.batch_number ORDER BY batch_number LIMIT most - total);
    GET DIAGNOSTICS gone = ROW_COUNT;
    total := total + gone;
  END LOOP;
  RETURN total;
END
$function$;
