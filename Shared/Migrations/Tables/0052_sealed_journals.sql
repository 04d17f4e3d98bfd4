-- Journals go with the batches that wrote them, once these are sealed: what they come to is kept by account. Nothing else
-- takes a posting back.
DROP TRIGGER posting_is_append_only ON billing.posting;
CREATE TRIGGER posting_is_append_only BEFORE UPDATE OR TRUNCATE ON billing.posting
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();

CREATE FUNCTION billing.refuse_unsealed_removal() RETURNS trigger LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  open record;
BEGIN
  SELECT g.partition, g.batch_number INTO open FROM gone g
  LEFT JOIN sealed.batch s ON s.service = 'billing' AND s.partition = g.partition
  WHERE g.batch_number > coalesce(s.batch_number, 0) LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'the ledger is append-only: journal % of partition % is not sealed', open.batch_number, open.partition
      USING ERRCODE = 'HB003';
  END IF;
  RETURN NULL;
END
$function$;
CREATE TRIGGER posting_goes_sealed AFTER DELETE ON billing.posting REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_unsealed_removal();
