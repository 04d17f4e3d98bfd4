-- Functions that said what numbers mean, beside the program's own vocabularies: the schema `vocabulary` has them now. The
-- views that call them are made again in this transaction, with words in the place of codes.
DROP FUNCTION IF EXISTS reporting.error_of_reason(smallint) CASCADE;
DROP FUNCTION IF EXISTS reporting.device_name(smallint) CASCADE;
DROP FUNCTION IF EXISTS reporting.size_name(smallint) CASCADE;
DROP FUNCTION IF EXISTS reporting.invalid_reason(smallint) CASCADE;
