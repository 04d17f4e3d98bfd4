-- Of each client's clicks so many are judged, in the order in which they came, whatever their views do.

ALTER TABLE click_tracking.click
  ADD COLUMN is_accidental boolean NOT NULL DEFAULT false,
  ADD COLUMN is_judged boolean NOT NULL DEFAULT true;
COMMENT ON COLUMN click_tracking.click.is_accidental IS
  'its action was over too soon (M7), whatever prevails in the verdict';
COMMENT ON COLUMN click_tracking.click.is_judged IS
  'false for a repeat or limited click that has no verdict of its own, because too many came before it';

-- The clicks of a client that bear on others: on those of the same ad, of the same day, and within the limits' windows.
DROP INDEX click_tracking.click_counted;
CREATE INDEX click_judged ON click_tracking.click (client_hash, serve_id) WHERE is_judged;

COMMENT ON TABLE click_tracking.parked IS
  'Clicks without a verdict yet: their ad was not seen, or an earlier click of the client is not decided.';
CREATE INDEX parked_client ON click_tracking.parked (client_hash);
