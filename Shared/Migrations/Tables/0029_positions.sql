-- Positions stand in the partition's row, as arrays in the order of the service's topics: the fence, which changes that row
-- anyway, writes them. As rows of their own each cost a batch a statement more, and a batch of one request costs little else.
-- The views `input` and `output` (11_pipeline.sql) show them as the tables did.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      ALTER TABLE %1$I.partition
        ADD COLUMN input_topics text[] NOT NULL DEFAULT '{}',
        ADD COLUMN output_topics text[] NOT NULL DEFAULT '{}',
        ADD COLUMN next_offsets bigint[] NOT NULL DEFAULT '{}',
        -- The record that proves which log a position belongs to; NULL before the first.
        ADD COLUMN last_offsets bigint[] NOT NULL DEFAULT '{}',
        ADD COLUMN last_timestamps bigint[] NOT NULL DEFAULT '{}',
        ADD COLUMN last_hashes bigint[] NOT NULL DEFAULT '{}',
        ADD COLUMN consumed_sequences bigint[] NOT NULL DEFAULT '{}',
        ADD COLUMN consumed_watermarks timestamptz[] NOT NULL DEFAULT '{}',
        ADD COLUMN next_sequences bigint[] NOT NULL DEFAULT '{}',
        ADD COLUMN confirmed_sequences bigint[] NOT NULL DEFAULT '{}';
      INSERT INTO %1$I.partition (partition)
      SELECT partition FROM %1$I.input UNION SELECT partition FROM %1$I.output ON CONFLICT DO NOTHING;
      UPDATE %1$I.partition p SET (input_topics, next_offsets, last_offsets, last_timestamps, last_hashes,
        consumed_sequences, consumed_watermarks) = (
        SELECT coalesce(array_agg(topic ORDER BY topic), '{}'), coalesce(array_agg(next_offset ORDER BY topic), '{}'),
          coalesce(array_agg(last_offset ORDER BY topic), '{}'), coalesce(array_agg(last_timestamp ORDER BY topic), '{}'),
          coalesce(array_agg(last_hash ORDER BY topic), '{}'),
          coalesce(array_agg(consumed_sequence ORDER BY topic), '{}'),
          coalesce(array_agg(consumed_watermark ORDER BY topic), '{}')
        FROM %1$I.input i WHERE i.partition = p.partition);
      UPDATE %1$I.partition p SET (output_topics, next_sequences, confirmed_sequences) = (
        SELECT coalesce(array_agg(topic ORDER BY topic), '{}'), coalesce(array_agg(next_sequence ORDER BY topic), '{}'),
          coalesce(array_agg(confirmed_sequence ORDER BY topic), '{}')
        FROM %1$I.output o WHERE o.partition = p.partition);
      ALTER TABLE %1$I.partition
        ADD CONSTRAINT partition_inputs_are_whole CHECK (
          cardinality(next_offsets) = cardinality(input_topics) AND cardinality(last_offsets) = cardinality(input_topics)
          AND cardinality(last_timestamps) = cardinality(input_topics)
          AND cardinality(last_hashes) = cardinality(input_topics)
          AND cardinality(consumed_sequences) = cardinality(input_topics)
          AND cardinality(consumed_watermarks) = cardinality(input_topics) AND 0 <= ALL (next_offsets)),
        -- A service has one output.
        ADD CONSTRAINT partition_outputs_are_whole CHECK (
          cardinality(next_sequences) = cardinality(output_topics)
          AND cardinality(confirmed_sequences) = cardinality(output_topics) AND cardinality(output_topics) <= 1
          AND (cardinality(output_topics) = 0 OR confirmed_sequences[1] < next_sequences[1]));
      -- With the views that read them: views of the same names are made again in their place.
      DROP TABLE %1$I.input CASCADE;
      DROP TABLE %1$I.output CASCADE;
    $ddl$, service);
  END LOOP;
END
$do$;

-- A settlement changes the partition's row by its number alone.
ALTER TYPE billing.settle_batch DROP ATTRIBUTE topic;
