-- A settlement knows for each day which of its rows count for it, in one value: that of the account, of the campaign and
-- of the day itself.
DROP FUNCTION IF EXISTS billing.least_of(numeric[], int[]);
DROP FUNCTION IF EXISTS billing.unclaimed(numeric[], numeric[], int[]);
CREATE TYPE billing.settlement_level AS (account int, campaign int, day int);
ALTER TYPE billing.settlement
  DROP ATTRIBUTE account_rows, DROP ATTRIBUTE campaign_rows, DROP ATTRIBUTE day_rows,
  ADD ATTRIBUTE levels billing.settlement_level[];
