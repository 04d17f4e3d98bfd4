-- What was kept of rejected records before it was redacted may name clients and open apps: it goes, and length and hash stay.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($sql$
      UPDATE %I.rejected SET value = NULL, record_key = NULL, header_names = NULL, header_values = NULL
      WHERE topic IN ('ads.requests', 'ads.impressions') AND (value IS NOT NULL OR header_names IS NOT NULL)
    $sql$, service);
  END LOOP;
END
$do$;
