-- A rejected record is kept as it came, with key and headers, so that it can be sent again once its reason is gone.
DO $$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      -- NULL names: key, value and headers together were beyond the limits, or the row is older than these columns.
      ALTER TABLE %1$I.rejected ADD COLUMN record_key bytea, ADD COLUMN header_names bytea[],
        ADD COLUMN header_values bytea[],
        ADD CHECK (cardinality(header_names) = cardinality(header_values));
      -- People look for what was rejected lately.
      CREATE INDEX rejected_arrival ON %1$I.rejected USING brin (arrival);
    $ddl$, service);
  END LOOP;
END
$$;
