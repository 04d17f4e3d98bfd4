-- It takes its owner's epoch since.
DROP FUNCTION IF EXISTS timeline.note_finding(text, int, text);
