-- What asked whether one ad was served by a lost decision was planned for the decisions of all days, in each query that had it.
DROP FUNCTION IF EXISTS timeline.is_lost(int, uuid);
