-- Up to which batch a partition's requests are in minute_count. Later ones are counted by the process that decided them,
-- and from their decisions by its successor. Earlier releases count with each batch and know nothing of this table: the
-- first owner of a newer one makes a partition's row, when nobody older can commit any more. Whoever goes back to an
-- earlier release empties the table before the newer one starts again.
CREATE TABLE ad_selection.counted (
  partition int PRIMARY KEY,
  batch_number bigint NOT NULL
);
