-- Up to which batch a partition's requests are in minute_count. Later ones are counted by the process that decided them,
-- and from their decisions by its successor. Earlier releases count with each batch and do not move this: all their
-- instances of ad selection stop before the first one of this release starts, which begins where they ended.
CREATE TABLE ad_selection.counted (
  partition int PRIMARY KEY,
  batch_number bigint NOT NULL,
  -- When that batch was committed: later decisions have later ids.
  committed_at timestamptz NOT NULL
);
