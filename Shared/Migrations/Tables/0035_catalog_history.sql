-- The catalogue's history is kept as long as decisions that name it: catalog.forget_history takes out what no decision can
-- name any more. Nothing changes what stays.
DROP TRIGGER history_stays ON catalog.history;
CREATE TRIGGER history_stays BEFORE UPDATE ON catalog.history
  FOR EACH ROW EXECUTE FUNCTION catalog.keep_what_stays();
