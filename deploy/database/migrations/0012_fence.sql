-- Ends a transaction whose fence did not change exactly its partition's row: the partition has another owner. An error,
-- and not a number for the client to look at, so that the whole transaction can be sent at once.
CREATE FUNCTION public.hold_fence(rows_changed bigint) RETURNS void LANGUAGE plpgsql AS $function$
BEGIN
  IF rows_changed IS DISTINCT FROM 1 THEN
    RAISE EXCEPTION 'the partition has another owner' USING ERRCODE = 'HB001';
  END IF;
END
$function$;
