-- Accepted events beyond a cap of their app's hour (B8): nobody is billed and nobody paid before a person has released or
-- voided them. As charges they name their terms; hour and app are what a person asks by.
CREATE TABLE billing.held_row (
  serve_id uuid NOT NULL,
  -- Of the batch that held it.
  batch_number bigint NOT NULL,
  event_time timestamptz NOT NULL,
  -- Which click of the serve; 0 for the impression.
  id_hash bigint NOT NULL,
  terms bigint NOT NULL,
  allotment bigint NOT NULL,
  partition int NOT NULL,
  budget_day int NOT NULL,
  -- In which the ad was served, in hours since 1970.
  hour int NOT NULL,
  kind smallint NOT NULL,
  reason smallint NOT NULL,
  device smallint NOT NULL,
  size smallint NOT NULL,
  app text COLLATE "C" NOT NULL,
  country text NOT NULL,
  placement text NOT NULL,
  PRIMARY KEY (serve_id, id_hash)
);
CREATE INDEX held_row_app ON billing.held_row (partition, app, hour);

-- What came of each app's ads of an hour, what is held included: by it a partition's owner knows the caps. Of all ads (''),
-- and the clicks of each. Gone when nothing can come any more.
CREATE TABLE billing.app_hour (
  partition int NOT NULL,
  hour int NOT NULL,
  app text COLLATE "C" NOT NULL,
  ad text COLLATE "C" NOT NULL,
  impressions bigint NOT NULL,
  clicks bigint NOT NULL,
  PRIMARY KEY (partition, hour, app, ad)
) WITH (fillfactor = 50);

-- What the network has borne of each app's ads of a day (UTC), where no budget could pay.
CREATE TABLE billing.unfunded_day (
  partition int NOT NULL,
  app text COLLATE "C" NOT NULL,
  day date NOT NULL,
  currency text COLLATE "C" NOT NULL,
  amount numeric(38,0) NOT NULL CHECK (amount >= 0),
  PRIMARY KEY (partition, app, day, currency)
);

-- What persons have decided of what was held. Never updated.
CREATE TABLE billing.held_decision (
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  app text NOT NULL,
  is_released boolean NOT NULL,
  events bigint NOT NULL,
  reason text NOT NULL CHECK (reason <> ''),
  decided_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (partition, batch_number)
);

-- It has a parameter more: what the network bears at most.
DROP FUNCTION IF EXISTS billing.settle(billing.settle_batch, billing.settle_limits, billing.settle_account[],
  billing.settle_campaign[], billing.settle_day[], billing.settle_charge[], billing.settle_return[], billing.settle_draw[],
  billing.settle_ask[], billing.settle_posting[]);
