-- Marks that the console sets, and nobody deletes: an app's hour in which a share went beyond its limit.
CREATE TABLE console.anomaly (
  app text NOT NULL,
  hour timestamptz NOT NULL,
  -- 1 click rate, 2 repeats, 3 too early, 4 accidental, 5 beyond the click limits, 6 impossible
  kind smallint NOT NULL CHECK (kind BETWEEN 1 AND 6),
  -- the share is events / of_events
  events bigint NOT NULL CHECK (events >= 0),
  of_events bigint NOT NULL CHECK (of_events > 0),
  -- the limit when it was last looked at, in basis points
  limit_basis_points int NOT NULL,
  found_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (hour, app, kind)
);

DO $do$
BEGIN
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'handbill_console') THEN
    GRANT SELECT, INSERT, UPDATE ON console.anomaly TO handbill_console;
  END IF;
END
$do$;
