-- dividend / divisor with two decimals, a half up, exactly; NULL for a divisor of 0.
CREATE OR REPLACE FUNCTION reporting.hundredths(dividend numeric, divisor numeric) RETURNS numeric LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN divisor > 0
    THEN ((x.value - mod(mod(x.value, 2 * divisor) + 2 * divisor, 2 * divisor)) / (2 * divisor) * 0.01)::numeric(38,2) END
  FROM (VALUES (200 * dividend + divisor)) AS x (value)
$function$;

-- The code of rules E that a request was answered with, by the reason of its decision; NULL where an ad was served.
CREATE OR REPLACE FUNCTION reporting.error_of_reason(reason smallint) RETURNS smallint LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE
    WHEN reason IN (1, 2, 3) THEN NULL
    WHEN reason IN (5, 38, 42) THEN 1
    WHEN reason IN (36, 37) THEN 2
    WHEN reason BETWEEN 32 AND 35 OR reason IN (39, 41) THEN 3
    WHEN reason BETWEEN 16 AND 24 THEN 4
    ELSE 0
  END::smallint
$function$;

CREATE OR REPLACE FUNCTION reporting.device_name(device smallint) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE device WHEN 1 THEN 'phone' WHEN 2 THEN 'pad' ELSE 'unknown' END
$function$;

-- The sizes of rules S1 to S7 by their points; a test compares them with the program's table.
CREATE OR REPLACE FUNCTION reporting.size_name(size smallint) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE size WHEN 1 THEN '320x50' WHEN 2 THEN '480x32' WHEN 3 THEN '768x66' WHEN 4 THEN '1024x66'
    WHEN 5 THEN '300x250' WHEN 6 THEN '768x1024' WHEN 7 THEN '1024x768' ELSE 'unknown' END
$function$;

-- Why a click is not billed.
CREATE OR REPLACE FUNCTION reporting.invalid_reason(verdict smallint) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE verdict WHEN 2 THEN 'repeat' WHEN 3 THEN 'accidental' WHEN 4 THEN 'tooEarly' WHEN 5 THEN 'tooLate'
    WHEN 6 THEN 'limited' WHEN 7 THEN 'noImpression' WHEN 8 THEN 'impossible' END
$function$;
