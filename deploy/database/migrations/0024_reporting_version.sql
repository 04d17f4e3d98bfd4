-- What reads the schema `reporting` can ask whether it still means what it meant: docs/reporting.md says what each view
-- and column of this version is.
CREATE VIEW reporting.version AS SELECT 1 AS version;
COMMENT ON VIEW reporting.version IS 'The version of this schema: one row.';
COMMENT ON COLUMN reporting.version.version IS
  'Raised when a view or column goes away, or changes its name, type, unit or meaning; new ones do not raise it.';

DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_reporting') THEN
    GRANT SELECT ON reporting.version TO handbill_reporting;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    GRANT SELECT ON reporting.version TO handbill_console;
  END IF;
END
$do$;
