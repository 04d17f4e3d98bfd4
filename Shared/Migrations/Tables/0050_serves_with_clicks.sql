-- When the ads' tokens expire on which clicks wait: the served ads of a partition are read in that order, some at a time.
ALTER TABLE click_tracking.parked_row ADD COLUMN expires_at timestamptz;
UPDATE click_tracking.parked_row SET expires_at = timestamptz 'epoch'
  + (('x' || encode(substr(uuid_send(serve_id), 1, 6), 'hex'))::bit(48)::bigint + life_ms) * interval '1 millisecond'
FROM click_tracking.terms WHERE name = terms;
ALTER TABLE click_tracking.parked_row ALTER COLUMN expires_at SET NOT NULL;
DROP INDEX click_tracking.parked_partition;
CREATE INDEX parked_expiry ON click_tracking.parked_row (partition, expires_at, serve_id);
