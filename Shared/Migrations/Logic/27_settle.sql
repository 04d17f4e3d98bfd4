-- Everything that a batch does to budgets: the only way in which shared rows change (besides funding), called last,
-- with COMMIT, so that nobody holds them while waiting for a client. In this order: charges to allotments of the
-- partition's own; returns of allotments that close or end; the partition's events that wait at these days; draws of
-- events that no allotment could pay; grants, which it returns.
CREATE OR REPLACE FUNCTION billing.settle(
  batch billing.settle_batch, limits billing.settle_limits,
  accounts billing.settle_account[], campaigns billing.settle_campaign[], days billing.settle_day[],
  charges billing.settle_charge[], returned billing.settle_return[], draws billing.settle_draw[],
  asks billing.settle_ask[], postings billing.settle_posting[],
  -- What the network bears at most of one app's day in this partition; NULL for anything.
  unfunded_cap bigint DEFAULT NULL
) RETURNS SETOF billing.allotment LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  settlement billing.settlement;
BEGIN
  IF cardinality(charges) > 0 THEN PERFORM billing.charge_allotments(batch, charges); END IF;
  -- Most batches are charged to allotments alone, which no other partition touches: they lock no budget.
  IF cardinality(days) = 0 THEN
    IF cardinality(postings) > 0 THEN PERFORM billing.write_postings(batch, postings); END IF;
    RETURN;
  END IF;
  settlement := treasury.lock_budgets(accounts, campaigns, days);
  IF cardinality(returned) > 0 THEN settlement := billing.return_allotments(settlement, batch, returned); END IF;
  settlement := billing.settle_waiting(settlement, batch, limits.ready_maximum);
  IF cardinality(draws) > 0 THEN settlement := billing.settle_draws(settlement, draws); END IF;
  settlement := billing.cap_unfunded(settlement, batch, draws, unfunded_cap);
  settlement.next_sequence := batch.next_sequence;
  IF cardinality(asks) > 0 THEN settlement := billing.grant_allotments(settlement, batch, asks, limits); END IF;
  PERFORM treasury.write_budgets(settlement);
  IF settlement.next_sequence > batch.next_sequence THEN
    UPDATE billing.partition p SET next_sequences = ARRAY[settlement.next_sequence] WHERE p.partition = batch.partition;
    UPDATE billing.batch b SET next_sequences = ARRAY[settlement.next_sequence]
    WHERE b.partition = batch.partition AND b.batch_number = batch.batch_number;
    RETURN QUERY SELECT a.* FROM billing.allotment a
    WHERE a.id >= billing.allotment_id(batch.partition, batch.next_sequence)
      AND a.id < billing.allotment_id(batch.partition, settlement.next_sequence) AND a.partition = batch.partition
    ORDER BY a.id;
  END IF;
  IF cardinality(draws) + cardinality(settlement.ready) + cardinality(postings) > 0 THEN
    PERFORM billing.write_journal(batch, settlement, draws, postings);
  END IF;
END
$function$;
