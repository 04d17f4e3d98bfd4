-- Lost commits (architecture, "Lost commits"): a database that was restored from a backup, or a standby that was promoted
-- without the last commits, knows less than its topics tell.
CREATE SCHEMA timeline;

-- Which history of commits this is: one row until commits are lost, one more for each time that a person accepts it. What
-- services write to each other names the last.
CREATE TABLE timeline.timeline (
  number int PRIMARY KEY CHECK (number > 0),
  id uuid NOT NULL UNIQUE DEFAULT gen_random_uuid(),
  begun_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  reason text NOT NULL CHECK (reason <> '')
);
INSERT INTO timeline.timeline (number, reason) VALUES (1, 'the beginning');

-- Partitions that have stopped, and why: until a person has decided, nobody opens them.
CREATE TABLE timeline.finding (
  service text NOT NULL,
  partition int NOT NULL,
  detail text NOT NULL,
  found_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (service, partition)
);

-- Sequences that a timeline leaves out: messages that have them tell of commits that were lost before it began. The last of
-- each range was never given. One row for each topic and partition that was told of.
CREATE TABLE timeline.lost_sequence (
  topic text NOT NULL,
  partition int NOT NULL,
  first_sequence bigint NOT NULL,
  next_sequence bigint NOT NULL CHECK (next_sequence > first_sequence),
  timeline int NOT NULL REFERENCES timeline.timeline,
  PRIMARY KEY (topic, partition, first_sequence)
);

-- Ads that were served by lost commits: those with an id in one of these ranges and without a decision. Their tokens are in
-- the world, and their events are held until a person releases or voids them.
CREATE TABLE timeline.lost_serve (
  partition int NOT NULL,
  first_id uuid NOT NULL,
  next_id uuid NOT NULL,
  timeline int NOT NULL REFERENCES timeline.timeline,
  PRIMARY KEY (partition, first_id),
  CHECK (next_id > first_id)
);

-- The timeline that the partition's rows were written in: another one than the database's, where only a part was restored.
ALTER TABLE ad_selection.partition ADD COLUMN timeline uuid;
ALTER TABLE impression_tracking.partition ADD COLUMN timeline uuid;
ALTER TABLE click_tracking.partition ADD COLUMN timeline uuid;
ALTER TABLE billing.partition ADD COLUMN timeline uuid;
