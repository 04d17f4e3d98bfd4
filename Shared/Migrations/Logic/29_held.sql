-- The way out of what is held (B8): a person releases it, or voids it.

-- Takes events of an app that one partition holds, of ads served in these hours, out of what is held, and gives them as draws:
-- at most `most`, in the order in which they were held.
CREATE OR REPLACE FUNCTION billing.take_held(held_partition int, held_app text, first_hour int, last_hour int, most int,
  OUT accounts billing.settle_account[], OUT campaigns billing.settle_campaign[], OUT days billing.settle_day[],
  OUT draws billing.settle_draw[]
) LANGUAGE plpgsql AS $function$
BEGIN
  WITH chosen AS (
    SELECT h.serve_id, h.id_hash FROM billing.held_row h
    WHERE h.partition = held_partition AND h.app = held_app AND h.hour BETWEEN first_hour AND last_hour
    ORDER BY h.batch_number, h.serve_id, h.id_hash LIMIT most
  ), gone AS (
    DELETE FROM billing.held_row h USING chosen c
    WHERE h.serve_id = c.serve_id AND h.id_hash = c.id_hash AND h.partition = held_partition
    RETURNING h.*
  ), named AS (
    SELECT g.*, t.advertiser, t.currency, t.campaign, t.price,
      dense_rank() OVER (ORDER BY t.advertiser, t.currency)::int AS account_index,
      dense_rank() OVER (ORDER BY t.advertiser, t.currency, t.campaign)::int AS campaign_index,
      dense_rank() OVER (ORDER BY t.advertiser, t.currency, t.campaign, g.budget_day)::int AS day_index
    FROM gone g
    LEFT JOIN LATERAL billing.priced_terms(g.terms, g.kind, vocabulary.charge_fate('held')) AS t ON true
  )
  SELECT
    (SELECT array_agg(ROW(n.advertiser, n.currency)::billing.settle_account ORDER BY n.account_index)
     FROM (SELECT DISTINCT account_index, advertiser, currency FROM named) AS n),
    (SELECT array_agg(ROW(n.campaign, n.account_index)::billing.settle_campaign ORDER BY n.campaign_index)
     FROM (SELECT DISTINCT campaign_index, campaign, account_index FROM named) AS n),
    (SELECT array_agg(ROW(n.budget_day, n.campaign_index)::billing.settle_day ORDER BY n.day_index)
     FROM (SELECT DISTINCT day_index, budget_day, campaign_index FROM named) AS n),
    (SELECT array_agg(ROW(n.price, false, n.day_index, n.serve_id, n.event_time, n.id_hash, n.terms, n.allotment, n.kind,
       n.device, n.size, n.country, n.placement)::billing.settle_draw
       ORDER BY n.batch_number, n.serve_id, n.id_hash) FROM named AS n)
  INTO accounts, campaigns, days, draws;
END
$function$;

-- Gives such events their fates. Released, they draw on free budget as if no allotment could pay them, and are never late, as
-- the delay is ours; voided, nobody pays and nobody is paid. In a batch of its own without records, under the fence: whoever
-- owns the partition gives it up and opens it again, and the fates have their place in the order. Says how many there were.
CREATE OR REPLACE FUNCTION billing.resolve_held(held_partition int, held_app text, first_hour int, last_hour int,
  is_released boolean, why text, most int
) RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
#variable_conflict use_column
DECLARE
  batch billing.settle_batch;
  settlement billing.settlement;
  taken record;
BEGIN
  -- Somebody else may be resolving the same: what is held is looked for behind him.
  PERFORM FROM billing.partition p WHERE p.partition = held_partition FOR UPDATE;
  PERFORM FROM billing.held_row h
  WHERE h.partition = held_partition AND h.app = held_app AND h.hour BETWEEN first_hour AND last_hour LIMIT 1;
  IF NOT FOUND THEN RETURN 0; END IF;
  UPDATE billing.partition p SET epoch = pipeline.next_epoch(p.epoch), batch_number = p.batch_number + 1 WHERE p.partition = held_partition
  RETURNING p.partition, p.batch_number, clock_timestamp(), 0 INTO STRICT batch;
  PERFORM public.add_empty_batch('billing', batch.partition, batch.batch_number);

  taken := billing.take_held(held_partition, held_app, first_hour, last_hour, most);
  IF is_released THEN
    PERFORM billing.settle(batch, ROW(1, 1, 1, 1, 1, 5000)::billing.settle_limits, taken.accounts, taken.campaigns,
      taken.days, '{}', '{}', taken.draws, '{}', '{}', billing.noted_unfunded_cap(batch.partition));
  ELSE
    settlement := billing.new_settlement(taken.accounts, taken.campaigns, taken.days);
    settlement.fates := array_fill(
      ROW(vocabulary.charge_fate('voided'), 0)::billing.settle_fate, ARRAY[cardinality(taken.draws)]);
    PERFORM billing.write_journal(batch, settlement, taken.draws, '{}');
  END IF;
  INSERT INTO billing.held_decision (partition, batch_number, app, is_released, events, reason)
  VALUES (batch.partition, batch.batch_number, held_app, is_released, cardinality(taken.draws), why);
  RETURN cardinality(taken.draws);
END
$function$;
