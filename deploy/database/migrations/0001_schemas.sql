-- One schema for each service: what lies in a schema is written by that service alone.
CREATE SCHEMA ad_selection;
CREATE SCHEMA impression_tracking;
CREATE SCHEMA click_tracking;
CREATE SCHEMA billing;
-- Advertisers, campaigns, ads, creatives, apps, keys and settings; written by the console's module alone.
CREATE SCHEMA catalog;
-- Views for people and dashboards.
CREATE SCHEMA reporting;

-- Who reads reports may write nothing, whatever is granted later by mistake. Roles belong to the whole server, so the
-- role may be there already, and an owner of one database only may not be allowed to make it.
DO $$
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
$$;

DO $$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_reporting') THEN
    GRANT USAGE ON SCHEMA reporting TO handbill_reporting;
    ALTER DEFAULT PRIVILEGES IN SCHEMA reporting GRANT SELECT ON TABLES TO handbill_reporting;
  END IF;
END
$$;
