-- One schema for each service: what lies in a schema is written by that service alone.
CREATE SCHEMA ad_selection;
CREATE SCHEMA impression_tracking;
CREATE SCHEMA click_tracking;
CREATE SCHEMA billing;
-- Advertisers, campaigns, ads, creatives, apps, keys and settings; written by the console's module alone.
CREATE SCHEMA catalog;
-- What the console notices.
CREATE SCHEMA console;
-- Views for people and dashboards.
CREATE SCHEMA reporting;

-- Two roles read: handbill_reporting the views of reports, handbill_console everything. Who reads may write nothing,
-- whatever is granted later by mistake. Roles belong to the whole server, so a role may be there already, and an owner
-- of one database only may not be allowed to make it.
DO $do$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_reporting') THEN
    CREATE ROLE handbill_reporting NOLOGIN;
  END IF;
  ALTER ROLE handbill_reporting SET default_transaction_read_only = on;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN
    RAISE NOTICE 'role handbill_reporting was made by somebody else just now';
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'no right to make role handbill_reporting; an administrator may do it later';
END
$do$;

DO $do$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    CREATE ROLE handbill_console NOLOGIN;
    EXECUTE format('GRANT handbill_console TO %I', current_user);
  END IF;
EXCEPTION
  WHEN duplicate_object OR unique_violation THEN
    RAISE NOTICE 'role handbill_console was made by somebody else just now';
  WHEN insufficient_privilege THEN
    RAISE NOTICE 'no right to make role handbill_console; an administrator may do it later';
END
$do$;

DO $do$
DECLARE
  schema_name text;
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_reporting') THEN
    GRANT USAGE ON SCHEMA reporting TO handbill_reporting;
    ALTER DEFAULT PRIVILEGES IN SCHEMA reporting GRANT SELECT ON TABLES TO handbill_reporting;
  END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    GRANT USAGE ON SCHEMA console TO handbill_console;
    FOREACH schema_name IN ARRAY
      ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing', 'catalog', 'reporting']
    LOOP
      EXECUTE format('GRANT USAGE ON SCHEMA %I TO handbill_console', schema_name);
      EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT ON TABLES TO handbill_console', schema_name);
    END LOOP;
  END IF;
END
$do$;
