-- One word for each thing, as in the list of words (docs/architecture.md): sequences are consumed and confirmed, and what a
-- service lacks is a gap that it asks for.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      ALTER TABLE %1$I.input RENAME COLUMN taken_sequence TO consumed_sequence;
      ALTER TABLE %1$I.input RENAME COLUMN taken_watermark TO consumed_watermark;
      ALTER TABLE %1$I.output RENAME COLUMN emitted_sequence TO confirmed_sequence;
      ALTER TABLE %1$I.missing RENAME TO gap_request;
      ALTER TABLE %1$I.answered_missing RENAME TO answered_gap_request;
    $ddl$, service);
  END LOOP;
END
$do$;
