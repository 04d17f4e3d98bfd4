-- The app keys that there are (A1): all that impression tracking needs of the catalogue.
CREATE OR REPLACE VIEW catalog.app_key AS
SELECT decode(body->>'keyHash', 'hex') AS key_hash, body->>'app' AS app, body->>'build' AS build,
  coalesce((body->>'isRevoked')::boolean, false) AS is_revoked
FROM catalog.record WHERE kind = 'app-key' AND deleted_at IS NULL;
COMMENT ON VIEW catalog.app_key IS 'Registered app keys by the SHA-256 of each.';
