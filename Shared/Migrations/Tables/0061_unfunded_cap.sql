-- What billing lets the network bear at most of an app's day (B4), by its setting when it last opened the partition: in
-- nanos of each currency, of all partitions together. What a person has settled goes by it.
CREATE TABLE billing.unfunded_cap (
  partition int PRIMARY KEY,
  nanos bigint NOT NULL CHECK (nanos >= 0)
);

-- It is told no cap any more.
DROP FUNCTION IF EXISTS billing.resolve_held(int, text, int, int, boolean, text, int, bigint);
-- It is told the first day that a change is for.
DROP FUNCTION IF EXISTS treasury.fund_campaign(text, text, text, numeric, numeric, bigint);
