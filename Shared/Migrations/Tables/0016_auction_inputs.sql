-- What went into an auction, so that it can be held again. With the request's own columns, the allotments and the
-- catalogue's history that is all.

-- What auctions follow besides catalogue and budgets; decisions name it by the number, a hash of all of it.
CREATE TABLE ad_selection.auction_rules (
  rules bigint PRIMARY KEY,
  -- Of the draws among equals; the bits of an unsigned number.
  seed bigint NOT NULL,
  -- The experience that every ad is taken to have had.
  prior_clicks bigint NOT NULL,
  prior_impressions bigint NOT NULL,
  noted_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE ad_selection.decision
  -- The place of the request's record in its batch: a batch's decisions were made in this order. Null in rows of before.
  ADD COLUMN batch_place int,
  -- The others are null where there was no auction, and in rows of before.
  ADD COLUMN rules bigint,
  -- The last change of the catalogue that was held, with all before it (catalog.history); null where what was held was
  -- the catalogue of no one moment, while a change was on its way.
  ADD COLUMN catalog_change bigint,
  -- Whether paid ads were served.
  ADD COLUMN paid_ads smallint,
  -- For each size the bit of its number.
  ADD COLUMN required_sizes int,
  -- Null for none.
  ADD COLUMN segments text[],
  ADD COLUMN is_interstitial boolean;

-- The place of the grant's record in its batch: requests behind it could be served from it.
ALTER TABLE ad_selection.allotment ADD COLUMN batch_place int NOT NULL DEFAULT 0;
-- The allotments that decisions of a time, or of some batches, could be served from.
CREATE INDEX allotment_end ON ad_selection.allotment (partition, serve_until);
CREATE INDEX allotment_batch ON ad_selection.allotment (partition, batch_number);

-- The number of the change that made the version: what the catalogue was after any change is each key's last version up
-- to it. 0 in rows of before, which are older than all decisions that name a change.
ALTER TABLE catalog.history ADD COLUMN change_number bigint NOT NULL DEFAULT 0;
CREATE INDEX history_change ON catalog.history (change_number);
