-- The catalogue: advertisers, campaigns, ads, developers, apps, their keys, and the network's settings. Written only
-- through the console's module (CatalogStore), read by its publisher.

-- One row for each record, deleted ones included: a key that comes back goes on with the next version.
CREATE TABLE catalog.record (
  -- the key on the topic ads.catalog, such as campaign/acme-summer
  key text PRIMARY KEY CHECK (key <> ''),
  kind text NOT NULL
    CHECK (kind IN ('advertiser', 'campaign', 'ad', 'developer', 'app', 'app-key', 'settings')),
  -- the record as the catalogue file writes it; a deleted one's last form
  body jsonb NOT NULL,
  -- raised by every change, under the row's lock
  version bigint NOT NULL CHECK (version >= 1),
  -- rises over all records in the order of the commits: what is newer than a reader's last is found by it
  change_number bigint NOT NULL UNIQUE,
  changed_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz
);
CREATE INDEX record_kind ON catalog.record (kind, key);
CREATE SEQUENCE catalog.change_number;

-- What every version held: who asks why an ad was served last month finds the terms of then. Never updated.
CREATE TABLE catalog.history (
  key text NOT NULL,
  version bigint NOT NULL,
  body jsonb NOT NULL,
  is_deleted boolean NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (key, version)
);

-- Bundle ids that were ever set to under 17. It can never be changed (A4), so nothing is ever taken out, also when the
-- app's record is deleted.
CREATE TABLE catalog.under_17_bundle (
  bundle_id text PRIMARY KEY,
  first_app text NOT NULL,
  set_at timestamptz NOT NULL DEFAULT now()
);

CREATE FUNCTION catalog.keep_what_stays() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION 'rows of %.% stay as they are', TG_TABLE_SCHEMA, TG_TABLE_NAME USING ERRCODE = '23514';
END
$function$;
CREATE TRIGGER under_17_stays BEFORE UPDATE OR DELETE ON catalog.under_17_bundle
  FOR EACH ROW EXECUTE FUNCTION catalog.keep_what_stays();
CREATE TRIGGER history_stays BEFORE UPDATE OR DELETE ON catalog.history
  FOR EACH ROW EXECUTE FUNCTION catalog.keep_what_stays();
