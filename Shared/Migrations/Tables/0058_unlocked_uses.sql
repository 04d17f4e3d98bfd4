-- A closed allotment is refused as it was. Before an update, a trigger has PostgreSQL lock each row first and write that to its
-- log, whatever it then looks at: for each use of an allotment 54 bytes.
DROP TRIGGER allotment_is_closed ON ad_selection.allotment;
CREATE TRIGGER allotment_is_closed AFTER UPDATE ON ad_selection.allotment
  FOR EACH ROW WHEN (OLD.closed_at IS NOT NULL) EXECUTE FUNCTION ad_selection.refuse_closed_allotment();
