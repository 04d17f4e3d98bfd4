-- Reason 41: paid ads are stopped by the billing circuit breaker. Its request is answered like one for which nothing is
-- left: code 3.

CREATE OR REPLACE FUNCTION reporting.error_of_reason(reason smallint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE
    WHEN reason IN (1, 2, 3) THEN NULL
    WHEN reason IN (5, 38) THEN 1
    WHEN reason IN (36, 37) THEN 2
    WHEN reason BETWEEN 32 AND 35 OR reason IN (39, 41) THEN 3
    WHEN reason BETWEEN 16 AND 23 THEN 4
    ELSE 0
  END::smallint
$function$;
