-- No statistics of arrays, in no table and in none of its days: nothing is planned by them. To analyze the packs of a day that
-- grows, ANALYZE took every element of every array apart: 16 seconds of a processor for a quarter of a million ads.
DO $do$
DECLARE
  changed record;
BEGIN
  FOR changed IN
    SELECT a.attrelid::regclass AS relation, string_agg(format('ALTER COLUMN %I SET STATISTICS 0', a.attname), ', ') AS changes
    FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
    WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relnamespace::regnamespace::text NOT LIKE 'pg\_%'
      AND c.relnamespace <> 'information_schema'::regnamespace
      AND a.attnum > 0 AND NOT a.attisdropped AND format_type(a.atttypid, a.atttypmod) LIKE '%[]'
    GROUP BY a.attrelid
  LOOP
    EXECUTE format('ALTER TABLE %s %s', changed.relation, changed.changes);
  END LOOP;
END
$do$;
