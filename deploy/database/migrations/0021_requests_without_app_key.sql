-- Requests without their app's key count for no app (M1, A1): by the day of their decision and by reason alone, so that
-- nothing that a stranger invents makes a row. Each has its decision all the same.

-- 16 the key is unknown, 17 revoked, 18 another app's; 42 not known yet, since the catalogue was not complete.
CREATE FUNCTION ad_selection.is_without_app_key(reason smallint) RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
$function$
  SELECT reason IN (16, 17, 18, 42)
$function$;

CREATE TABLE ad_selection.keyless_count (
  partition int NOT NULL,
  day date NOT NULL,
  reason smallint NOT NULL CHECK (ad_selection.is_without_app_key(reason)),
  requests bigint NOT NULL,
  PRIMARY KEY (partition, day, reason)
);

-- What was counted for apps until now, as the decisions tell it.
INSERT INTO ad_selection.keyless_count
SELECT d.partition, public.day_of(d.serve_id), d.reason, count(*)
FROM ad_selection.decision d LEFT JOIN ad_selection.counted c USING (partition)
WHERE ad_selection.is_without_app_key(d.reason) AND (c.batch_number IS NULL OR d.batch_number <= c.batch_number)
GROUP BY 1, 2, 3;
DELETE FROM ad_selection.minute_count WHERE ad_selection.is_without_app_key(reason);
ALTER TABLE ad_selection.minute_count
  ADD CONSTRAINT minute_count_is_of_app CHECK (NOT ad_selection.is_without_app_key(reason));

-- Reason 24: a rejected record of which so much could be read that it was answered. What it does not tell is empty, and
-- its device 0.
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
COMMENT ON COLUMN reporting.minute.placement IS
  'The name that the app gives the banner or interstitial; empty where a request with a mistake told none.';
COMMENT ON COLUMN reporting.minute.country IS
  'ISO 3166 code of two letters, or unknown.';

CREATE VIEW reporting.requests_without_app_key AS
SELECT day,
  CASE reason WHEN 16 THEN 'unknownKey' WHEN 17 THEN 'revokedKey' WHEN 18 THEN 'keyOfAnotherApp'
    WHEN 42 THEN 'keyNotYetKnown' END AS reason,
  sum(requests)::bigint AS requests
FROM ad_selection.keyless_count GROUP BY keyless_count.day, keyless_count.reason;
COMMENT ON VIEW reporting.requests_without_app_key IS
  'Requests that came without the key of the app they name: they count for no app and stand in no other view (M1, A1).';
COMMENT ON COLUMN reporting.requests_without_app_key.day IS 'Day in UTC on which they were refused.';
COMMENT ON COLUMN reporting.requests_without_app_key.reason IS
  'unknownKey, revokedKey, keyOfAnotherApp, or keyNotYetKnown: the catalogue was not complete.';
COMMENT ON COLUMN reporting.requests_without_app_key.requests IS 'How many.';
