-- Rollups up to a transaction that this server has not begun are none of its own, or of nothing yet.
SELECT public.rebuild_rollups(service) FROM pipeline.rollup
WHERE last_transaction >= pg_snapshot_xmax(pg_current_snapshot());
