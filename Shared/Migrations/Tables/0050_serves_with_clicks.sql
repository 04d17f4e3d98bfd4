-- The served ads of a partition on which clicks wait are read in the order of their ids, some at a time.
DROP INDEX click_tracking.parked_partition;
CREATE INDEX parked_serve ON click_tracking.parked_row (partition, serve_id);
