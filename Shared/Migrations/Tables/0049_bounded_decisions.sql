-- They are made again with bounds of all that is asked for, and the views that read them.
DROP FUNCTION IF EXISTS ad_selection.packed_decisions(uuid, uuid) CASCADE;
DROP FUNCTION IF EXISTS ad_selection.stored_decisions(uuid, uuid) CASCADE;
DROP FUNCTION IF EXISTS ad_selection.decisions(uuid, uuid) CASCADE;
