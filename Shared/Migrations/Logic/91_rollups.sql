-- Rollups of another server, or of none yet, are made anew.
SELECT public.rebuild_rollups(service) FROM pipeline.rollup WHERE server <> public.server_identifier();
