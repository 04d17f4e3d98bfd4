-- What apps are offered that stop ads' actions (A7) is a record of the catalogue, which the console measures.
ALTER TABLE catalog.record DROP CONSTRAINT record_kind_check, ADD CONSTRAINT record_kind_check
  CHECK (kind IN ('advertiser', 'campaign', 'ad', 'developer', 'app', 'app-key', 'settings', 'standing'));
