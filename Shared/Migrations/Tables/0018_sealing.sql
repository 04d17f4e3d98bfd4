-- What is kept of days whose rows may go. A day of serves is sealed once nothing of it can change and nothing of it differs:
-- its sums are added to those of all sealed days, and comparisons add to these what is served since. Written by the
-- console's module alone; services read up to when everything is sealed, and drop no rows of later days.
CREATE SCHEMA sealed;

-- One row.
CREATE TABLE sealed.head (
  is_only boolean PRIMARY KEY DEFAULT true CHECK (is_only),
  -- Everything that was served before is sealed: a beginning of a day (UTC). Counts of earlier minutes, too.
  open_from timestamptz NOT NULL DEFAULT 'epoch',
  -- The last budget day whose rows of campaigns are compared no more: they were, when everything of it was sealed.
  budget_day int NOT NULL DEFAULT -2147483648,
  -- Allotments that ended before are compared no more.
  ended_before timestamptz NOT NULL DEFAULT 'epoch',
  -- Of all rows of this schema but `day` and `part`: see sealed.digest().
  digest numeric NOT NULL DEFAULT 0
);
INSERT INTO sealed.head DEFAULT VALUES;

-- What each day of a partition came to: a proof, each linked to the one before by its digest.
CREATE TABLE sealed.day (
  day date NOT NULL,
  partition int NOT NULL,
  requests bigint NOT NULL,
  -- Live ads served, and those of them that nobody saw.
  serves bigint NOT NULL,
  expired bigint NOT NULL,
  impressions bigint NOT NULL,
  clicks bigint NOT NULL,
  charges bigint NOT NULL,
  gross numeric(38,0) NOT NULL,
  developer_amount numeric(38,0) NOT NULL,
  network_amount numeric(38,0) NOT NULL,
  -- Sums of accepted rows' sequences, and of the squares of what is left of them by 2^31.
  impression_sequences numeric(38,0) NOT NULL,
  impression_squares numeric(60,0) NOT NULL,
  click_sequences numeric(38,0) NOT NULL,
  click_squares numeric(60,0) NOT NULL,
  digest bytea NOT NULL,
  PRIMARY KEY (day, partition)
);

-- The same of all sealed days together, with the digest of the last of them.
CREATE TABLE sealed.partition (
  partition int PRIMARY KEY,
  requests bigint NOT NULL,
  serves bigint NOT NULL,
  expired bigint NOT NULL,
  impressions bigint NOT NULL,
  clicks bigint NOT NULL,
  charges bigint NOT NULL,
  gross numeric(38,0) NOT NULL,
  developer_amount numeric(38,0) NOT NULL,
  network_amount numeric(38,0) NOT NULL,
  impression_sequences numeric(38,0) NOT NULL,
  impression_squares numeric(60,0) NOT NULL,
  click_sequences numeric(38,0) NOT NULL,
  click_squares numeric(60,0) NOT NULL,
  digest bytea NOT NULL
);

-- What sealed charges took from an advertiser, or gave to a developer (below 0); and what the sealed journals posted.
CREATE TABLE sealed.account (
  partition int NOT NULL,
  account text NOT NULL,
  currency text NOT NULL,
  charged numeric(38,0) NOT NULL,
  debit numeric(38,0) NOT NULL,
  credit numeric(38,0) NOT NULL,
  PRIMARY KEY (partition, account, currency)
);

-- What sealed charges took: of a campaign; of its budget days and of allotments, as long as either can have more.
CREATE TABLE sealed.campaign (campaign text PRIMARY KEY, charged numeric(38,0) NOT NULL);
CREATE TABLE sealed.campaign_day (
  campaign text NOT NULL,
  day int NOT NULL,
  charged numeric(38,0) NOT NULL,
  PRIMARY KEY (campaign, day)
);
CREATE TABLE sealed.allotment (allotment bigint PRIMARY KEY, charged numeric(38,0) NOT NULL);

-- Sealed rows less what is counted of sealed minutes: an ad that was served before midnight is seen after it. Where both
-- agree there is no row.
CREATE TABLE sealed.count_ahead (
  service text NOT NULL,
  partition int NOT NULL,
  app text NOT NULL,
  is_test boolean NOT NULL,
  rows bigint NOT NULL,
  PRIMARY KEY (service, partition, app, is_test)
);
CREATE TABLE sealed.revenue_ahead (
  partition int NOT NULL,
  campaign text NOT NULL,
  app text NOT NULL,
  kind smallint NOT NULL,
  fate smallint NOT NULL,
  currency text NOT NULL,
  events bigint NOT NULL,
  gross numeric(38,0) NOT NULL,
  developer_amount numeric(38,0) NOT NULL,
  network_amount numeric(38,0) NOT NULL,
  PRIMARY KEY (partition, campaign, app, kind, fate, currency)
);

-- The last sealed batch of each service's partition, and where its inputs stood then.
CREATE TABLE sealed.batch (
  service text NOT NULL,
  partition int NOT NULL,
  batch_number bigint NOT NULL,
  PRIMARY KEY (service, partition)
);
CREATE TABLE sealed.input (
  service text NOT NULL,
  partition int NOT NULL,
  topic text NOT NULL,
  next_offset bigint NOT NULL,
  PRIMARY KEY (service, partition, topic)
);

-- Sums of pieces of the day that is being sealed: written piece by piece, so that no transaction is long, and thrown away
-- where it comes to nothing.
CREATE TABLE sealed.part (subject text NOT NULL, key text[] NOT NULL, figures numeric[] NOT NULL);

-- What is still compared is found without reading everything that ever was.
CREATE INDEX allotment_ended ON billing.allotment (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX allotment_closed ON ad_selection.allotment (closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX campaign_day_day ON billing.campaign_day (day);

-- It tells how many days it kept because they are not sealed.
DROP FUNCTION IF EXISTS public.keep_days(regclass, date, int, int, int);

DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    GRANT USAGE ON SCHEMA sealed TO handbill_console;
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA sealed TO handbill_console;
  END IF;
END
$do$;
