-- Sealed days: their sums, and the proof that these are what was written.

-- What the squares of 1 to n come to, of each the part that is left by 2^31: beside count and sum of the sequences of
-- accepted rows it tells a gap that something twice makes up for.
CREATE OR REPLACE FUNCTION sealed.squares(n bigint) RETURNS numeric LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $function$
  SELECT (n / 2147483648)::numeric * (2147483647::numeric * 2147483648 * 4294967295 / 6)
    + (k * (k + 1) * (2 * k + 1) / 6) FROM (SELECT (n % 2147483648)::numeric AS k) AS rest
$function$;

-- The digest of one partition's day, linked to that of its day before.
CREATE OR REPLACE FUNCTION sealed.link(before bytea, day date, partition int, figures numeric[]) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $function$
  SELECT sha256(before || convert_to(
    (day - date '1970-01-01')::text || ' ' || partition || ' ' || array_to_string(figures, ' ', '-'), 'UTF8'))
$function$;

-- A number that any change of the sums changes; whoever changes them on purpose can change it too, but then they differ
-- from what they are compared with.
CREATE OR REPLACE FUNCTION sealed.digest() RETURNS numeric LANGUAGE sql STABLE
SET timezone = 'UTC' SET datestyle = 'ISO' SET bytea_output = 'hex' AS $function$
  SELECT coalesce(sum(('x' || left(md5(content), 16))::bit(64)::bigint::numeric), 0) FROM (
    SELECT concat_ws(' ', 'head', open_from, budget_day, ended_before) AS content FROM sealed.head
    UNION ALL SELECT 'partition ' || r::text FROM sealed.partition r
    UNION ALL SELECT 'account ' || r::text FROM sealed.account r
    UNION ALL SELECT 'campaign ' || r::text FROM sealed.campaign r
    UNION ALL SELECT 'campaign_day ' || r::text FROM sealed.campaign_day r
    UNION ALL SELECT 'allotment ' || r::text FROM sealed.allotment r
    UNION ALL SELECT 'count_ahead ' || r::text FROM sealed.count_ahead r
    UNION ALL SELECT 'revenue_ahead ' || r::text FROM sealed.revenue_ahead r
    UNION ALL SELECT 'batch ' || r::text FROM sealed.batch r
    UNION ALL SELECT 'input ' || r::text FROM sealed.input r
  ) AS rows
$function$;

-- Adds the parts of the day that begins at the border, or of all days until then, to the sums, and moves the border behind
-- it; in the transaction that calls it. An error where the border is not where the caller saw it.
CREATE OR REPLACE FUNCTION sealed.seal(seen_from timestamptz, until timestamptz) RETURNS void LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  sealed_day date := (until AT TIME ZONE 'UTC')::date - 1;
BEGIN
  PERFORM FROM sealed.head WHERE open_from = seen_from AND until > seen_from FOR UPDATE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'somebody else has sealed the day' USING ERRCODE = 'HB006';
  END IF;
  PERFORM sealed.add_partitions(sealed_day);
  PERFORM sealed.add_money();
  PERFORM sealed.add_counts();
  INSERT INTO sealed.batch SELECT key[1], key[2]::int, max(figures[1]) FROM sealed.part WHERE subject = 'batch' GROUP BY 1, 2
  ON CONFLICT (service, partition) DO UPDATE SET batch_number = excluded.batch_number;
  INSERT INTO sealed.input SELECT key[1], key[2]::int, key[3], max(figures[1]) FROM sealed.part WHERE subject = 'input'
  GROUP BY 1, 2, 3
  ON CONFLICT (service, partition, topic) DO UPDATE SET next_offset = excluded.next_offset;
  DELETE FROM sealed.part;
  -- A budget day ends at noon of the UTC day after it at the latest, in every time zone. An allotment that has ended has
  -- paid for nothing that was served later; an hour is far beyond what clocks differ by.
  UPDATE sealed.head SET open_from = until, budget_day = sealed_day - date '1970-01-01' - 1,
    ended_before = until - interval '1 hour';
  DELETE FROM sealed.campaign_day d USING sealed.head h WHERE d.day <= h.budget_day;
  DELETE FROM sealed.allotment s USING billing.allotment a, sealed.head h
  WHERE a.id = s.allotment AND a.partition = s.partition AND a.ended_at < h.ended_before;
  UPDATE sealed.head SET digest = sealed.digest();
END
$function$;

CREATE OR REPLACE FUNCTION sealed.add_partitions(sealed_day date) RETURNS void LANGUAGE sql AS $function$
  WITH sums AS (
    SELECT key[1]::int AS partition, ARRAY[sum(figures[1]), sum(figures[2]), sum(figures[3]), sum(figures[4]),
      sum(figures[5]), sum(figures[6]), sum(figures[7]), sum(figures[8]), sum(figures[9]), sum(figures[10]),
      sum(figures[11]), sum(figures[12]), sum(figures[13])] AS f
    FROM sealed.part WHERE subject = 'partition' GROUP BY 1
  )
  INSERT INTO sealed.day
  SELECT sealed_day, s.partition, f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9], f[10], f[11], f[12], f[13],
    sealed.link(coalesce(p.digest, ''), sealed_day, s.partition, f)
  FROM sums s LEFT JOIN sealed.partition p USING (partition);

  INSERT INTO sealed.partition AS p
  SELECT partition, requests, serves, expired, impressions, clicks, charges, gross, developer_amount, network_amount,
    impression_sequences, impression_squares, click_sequences, click_squares, digest
  FROM sealed.day WHERE day = sealed_day
  ON CONFLICT (partition) DO UPDATE SET requests = p.requests + excluded.requests, serves = p.serves + excluded.serves,
    expired = p.expired + excluded.expired, impressions = p.impressions + excluded.impressions,
    clicks = p.clicks + excluded.clicks, charges = p.charges + excluded.charges, gross = p.gross + excluded.gross,
    developer_amount = p.developer_amount + excluded.developer_amount,
    network_amount = p.network_amount + excluded.network_amount,
    impression_sequences = p.impression_sequences + excluded.impression_sequences,
    impression_squares = p.impression_squares + excluded.impression_squares,
    click_sequences = p.click_sequences + excluded.click_sequences,
    click_squares = p.click_squares + excluded.click_squares, digest = excluded.digest;
$function$;

CREATE OR REPLACE FUNCTION sealed.add_money() RETURNS void LANGUAGE sql AS $function$
  INSERT INTO sealed.account AS a
  SELECT key[1]::int, key[2], key[3], sum(figures[1]), sum(figures[2]), sum(figures[3])
  FROM sealed.part WHERE subject = 'account' GROUP BY 1, 2, 3
  ON CONFLICT (partition, account, currency) DO UPDATE SET charged = a.charged + excluded.charged,
    debit = a.debit + excluded.debit, credit = a.credit + excluded.credit;
  INSERT INTO sealed.campaign AS c
  SELECT key[1], sum(figures[1]) FROM sealed.part WHERE subject = 'campaign' GROUP BY 1
  ON CONFLICT (campaign) DO UPDATE SET charged = c.charged + excluded.charged;
  INSERT INTO sealed.campaign_day AS d
  SELECT key[1], key[2]::int, sum(figures[1]) FROM sealed.part WHERE subject = 'campaign_day' GROUP BY 1, 2
  ON CONFLICT (campaign, day) DO UPDATE SET charged = d.charged + excluded.charged;
  INSERT INTO sealed.allotment AS a (allotment, partition, charged)
  SELECT key[1]::bigint, key[2]::int, sum(figures[1]) FROM sealed.part WHERE subject = 'allotment' GROUP BY 1, 2
  ON CONFLICT (allotment, partition) DO UPDATE SET charged = a.charged + excluded.charged;
$function$;

CREATE OR REPLACE FUNCTION sealed.add_counts() RETURNS void LANGUAGE sql AS $function$
  INSERT INTO sealed.count_ahead AS c
  SELECT key[1], key[2]::int, key[3], key[4]::boolean, sum(figures[1])
  FROM sealed.part WHERE subject = 'count' GROUP BY 1, 2, 3, 4
  ON CONFLICT (service, partition, app, is_test) DO UPDATE SET rows = c.rows + excluded.rows;
  DELETE FROM sealed.count_ahead WHERE rows = 0;
  INSERT INTO sealed.revenue_ahead AS r
  SELECT key[1]::int, key[2], key[3], key[4]::smallint, key[5]::smallint, key[6], sum(figures[1]), sum(figures[2]),
    sum(figures[3]), sum(figures[4])
  FROM sealed.part WHERE subject = 'revenue' GROUP BY 1, 2, 3, 4, 5, 6
  ON CONFLICT (partition, campaign, app, kind, fate, currency) DO UPDATE SET events = r.events + excluded.events,
    gross = r.gross + excluded.gross, developer_amount = r.developer_amount + excluded.developer_amount,
    network_amount = r.network_amount + excluded.network_amount;
  DELETE FROM sealed.revenue_ahead WHERE events = 0 AND gross = 0 AND developer_amount = 0 AND network_amount = 0;
$function$;

-- Of a database that has sealed nothing yet.
UPDATE sealed.head SET digest = sealed.digest() WHERE open_from = 'epoch' AND digest = 0;
