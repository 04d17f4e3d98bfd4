-- A failure without an ad carries its app's key, which says whether it is of a test build.
ALTER TABLE impression_tracking.failure ADD COLUMN is_test boolean NOT NULL DEFAULT false;

-- Keys are looked up by their hash.
CREATE INDEX record_app_key ON catalog.record (decode(body->>'keyHash', 'hex')) WHERE kind = 'app-key' AND deleted_at IS NULL;
