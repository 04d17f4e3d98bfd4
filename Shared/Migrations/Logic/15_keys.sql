-- The app keys that there are (A1), and whom their apps are for: all that the trackers need of the catalogue.
CREATE OR REPLACE VIEW catalog.app_key AS
SELECT decode(k.body->>'keyHash', 'hex') AS key_hash, k.body->>'app' AS app, k.body->>'build' AS build,
  coalesce((k.body->>'isRevoked')::boolean, false) AS is_revoked, coalesce((a.body->>'isUnder17')::boolean, true) AS is_under_17
FROM catalog.record k LEFT JOIN catalog.record a ON a.key = 'app/' || (k.body->>'app') AND a.deleted_at IS NULL
WHERE k.kind = 'app-key' AND k.deleted_at IS NULL;
COMMENT ON VIEW catalog.app_key IS
  'Registered app keys by the SHA-256 of each. Apps for which nobody has said it yet are for users under 17 (A4).';
