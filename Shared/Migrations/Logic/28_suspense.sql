-- The way out of suspense, where billing put an event that it could not charge.

-- Has what a serve has in suspense charged after all, as its trackers accepted it, and gives the fates. What the database
-- refuses again is an error, and changes nothing. Planned for this serve: a plan for any would lock the tables of all days.
CREATE OR REPLACE FUNCTION billing.retry_suspended(serve uuid) RETURNS TABLE (kind smallint, fate smallint)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET plan_cache_mode = force_custom_plan AS $function$
#variable_conflict use_column
DECLARE
  suspended billing.suspense;
BEGIN
  FOR suspended IN
    DELETE FROM billing.suspense s USING billing.partition p
    WHERE s.partition = p.partition AND s.serve_id = serve AND s.voided_at IS NULL RETURNING s.*
  LOOP
    RETURN QUERY SELECT suspended.kind, billing.charge_suspended(suspended);
  END LOOP;
END
$function$;

-- One event, in a batch of its own without records, under the fence: whoever owns the partition gives it up and opens it
-- again, and the charge has its place in the order. It draws on free budget, and is never late: the delay is ours.
CREATE OR REPLACE FUNCTION billing.charge_suspended(suspended billing.suspense) RETURNS smallint LANGUAGE plpgsql AS
$function$
DECLARE
  batch billing.settle_batch;
  event record;
  price bigint;
  terms_name bigint;
  life bigint;
  durability text := current_setting('synchronous_commit');
BEGIN
  UPDATE billing.partition p SET epoch = pipeline.next_epoch(p.epoch), batch_number = p.batch_number + 1 WHERE p.partition = suspended.partition
  RETURNING p.partition, p.batch_number, clock_timestamp(), 0 INTO STRICT batch;
  PERFORM public.add_empty_batch('billing', batch.partition, batch.batch_number);
  IF suspended.kind = vocabulary.charge_kind('impression') THEN
    SELECT i.*, NULL::smallint AS free_fate INTO event FROM impression_tracking.impression i
    WHERE i.serve_id = suspended.serve_id AND i.partition = suspended.partition AND NOT i.is_test;
    price := event.impression_price;
  ELSE
    SELECT k.*, vocabulary.free_fate(k.verdict) AS free_fate INTO event FROM click_tracking.click k
    WHERE k.serve_id = suspended.serve_id AND k.id_hash = suspended.id_hash AND k.partition = suspended.partition
      AND NOT k.is_test;
    price := event.click_price;
  END IF;
  IF event.serve_id IS NULL THEN
    RAISE EXCEPTION 'its tracker has no accepted event of %', suspended.serve_id USING ERRCODE = 'HB007';
  END IF;

  life := extract(epoch FROM event.expires_at - public.time_of(event.serve_id)) * 1000;
  terms_name := public.terms_name(event.app, event.developer, event.advertiser, event.campaign, event.ad,
    event.impression_price, event.click_price, event.currency, event.share_basis_points, life, false);
  PERFORM public.note_terms('billing', ARRAY[terms_name], ARRAY[public.day_of(event.serve_id)], ARRAY[event.app],
    ARRAY[event.developer], ARRAY[event.advertiser], ARRAY[event.campaign], ARRAY[event.ad], ARRAY[event.impression_price],
    ARRAY[event.click_price], ARRAY[event.currency], ARRAY[event.share_basis_points], ARRAY[life], ARRAY[false]);
  PERFORM set_config('synchronous_commit', durability, true);

  IF event.free_fate IS NULL AND price > 0 THEN
    PERFORM billing.settle(batch, ROW(1, 1, 1, 1, 1, 1000)::billing.settle_limits,
      ARRAY[ROW(event.advertiser, event.currency)::billing.settle_account],
      ARRAY[ROW(event.campaign, 1)::billing.settle_campaign], ARRAY[ROW(event.budget_day, 1)::billing.settle_day], '{}', '{}',
      ARRAY[ROW(price, false, 1, event.serve_id, event.event_time, suspended.id_hash, terms_name, event.allotment,
        suspended.kind, event.device, event.size, event.country, event.placement)::billing.settle_draw], '{}', '{}',
      billing.noted_unfunded_cap(batch.partition));
  ELSE
    INSERT INTO billing.charge_row (serve_id, batch_number, event_time, id_hash, terms, allotment, partition, budget_day, kind,
      fate, device, size, country, placement)
    VALUES (event.serve_id, batch.batch_number, event.event_time, suspended.id_hash, terms_name, event.allotment,
      batch.partition, event.budget_day, suspended.kind, coalesce(event.free_fate, vocabulary.charge_fate('charged')),
      event.device, event.size, event.country, event.placement);
    -- The partition's next owner counts it, and finds it by this.
    UPDATE billing.batch b SET first_serve_id = event.serve_id, last_serve_id = event.serve_id
    WHERE b.partition = batch.partition AND b.batch_number = batch.batch_number;
  END IF;
  RETURN coalesce((SELECT c.fate FROM billing.charge_row c WHERE c.serve_id = event.serve_id AND c.kind = suspended.kind
    AND c.id_hash = suspended.id_hash AND c.partition = batch.partition), vocabulary.charge_fate('waiting'));
END
$function$;
