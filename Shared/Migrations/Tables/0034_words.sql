-- Where a record stands in its batch is its index; a place is where an ad is shown.
ALTER TABLE ad_selection.decision_row RENAME COLUMN batch_place TO batch_index;
ALTER TABLE ad_selection.allotment RENAME COLUMN batch_place TO batch_index;
-- With the view that reads it: one of the same name is made again.
DROP VIEW IF EXISTS ad_selection.decision CASCADE;
