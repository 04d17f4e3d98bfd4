-- What is forgotten by its time is found by it. The day stands before the app: whoever forgets old days, within a
-- settlement, reads these alone, and not all apps of all days.
ALTER TABLE billing.unfunded_day DROP CONSTRAINT unfunded_day_pkey, ADD PRIMARY KEY (partition, day, app, currency);
-- Versions of the catalogue are forgotten by when they were replaced.
CREATE INDEX history_changed ON catalog.history (changed_at);
