-- What every service keeps about its partitions (design: "Exactly once"). Each service has these tables in its own
-- schema and is the only one that writes them; `missing` alone is read by another service, the producing one.
DO $do$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      -- Who owns a partition, and its last batch. Every batch updates its row first: that is the fence.
      CREATE TABLE %1$I.partition (
        partition int PRIMARY KEY CHECK (partition >= 0),
        epoch bigint NOT NULL DEFAULT 0,
        backend_pid int,
        batch_number bigint NOT NULL DEFAULT 0,
        watermark timestamptz NOT NULL DEFAULT 'epoch',
        outbox_id bigint NOT NULL DEFAULT 0,
        -- The member that took the partition last; null once it gave it up. Members come and go, owners stay until the
        -- next one.
        owner int
      ) WITH (fillfactor = 20);

      -- The position in each input, and the record that proves which log it belongs to.
      CREATE TABLE %1$I.input (
        partition int NOT NULL,
        topic text NOT NULL,
        next_offset bigint NOT NULL CHECK (next_offset >= 0),
        last_offset bigint,
        last_timestamp bigint,
        last_hash bigint,
        taken_sequence bigint NOT NULL DEFAULT 0,
        taken_watermark timestamptz NOT NULL DEFAULT 'epoch',
        PRIMARY KEY (partition, topic)
      ) WITH (fillfactor = 20);

      -- The position in each output with sequences.
      CREATE TABLE %1$I.output (
        partition int NOT NULL,
        topic text NOT NULL,
        next_sequence bigint NOT NULL DEFAULT 1,
        emitted_sequence bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (partition, topic),
        CHECK (emitted_sequence < next_sequence)
      ) WITH (fillfactor = 20);

      -- One row for each batch, with one byte of outcome for every offset, input after input (I3).
      CREATE TABLE %1$I.batch (
        partition int NOT NULL,
        batch_number bigint NOT NULL,
        committed_at timestamptz NOT NULL,
        watermark timestamptz NOT NULL,
        first_arrival timestamptz,
        last_arrival timestamptz,
        input_topics text[] NOT NULL,
        first_offsets bigint[] NOT NULL,
        next_offsets bigint[] NOT NULL,
        output_topics text[] NOT NULL,
        first_sequences bigint[] NOT NULL,
        next_sequences bigint[] NOT NULL,
        outcomes bytea NOT NULL,
        -- A flood of bad records adds a bounded number of rows to `rejected`: these are only counted, and among the
        -- outcomes.
        rejected_not_kept bigint NOT NULL DEFAULT 0,
        PRIMARY KEY (partition, batch_number)
      );
      -- Publishing again finds the batches of a sequence without reading all of them.
      CREATE INDEX batch_sequence ON %1$I.batch (partition, (next_sequences[1]));
      -- How many rejected records were only counted in a time is asked for by people: floods are rare, batches are
      -- many.
      CREATE INDEX ON %1$I.batch (last_arrival) WHERE rejected_not_kept > 0;

      -- Offsets that were never decided because the log had lost them, or a person skipped them.
      CREATE TABLE %1$I.lost_range (
        partition int NOT NULL,
        topic text NOT NULL,
        first_offset bigint NOT NULL,
        next_offset bigint NOT NULL CHECK (next_offset > first_offset),
        batch_number bigint NOT NULL,
        detail text NOT NULL,
        PRIMARY KEY (partition, topic, first_offset, batch_number)
      );

      -- Rare outputs (forwarded, rejected) as bytes, until delivered.
      CREATE TABLE %1$I.outbox (
        partition int NOT NULL,
        id bigint NOT NULL,
        topic text NOT NULL,
        target_partition int NOT NULL,
        key bytea,
        value bytea,
        header_names bytea[] NOT NULL,
        header_values bytea[] NOT NULL,
        PRIMARY KEY (partition, id)
      );

      -- Every rejected record, with its numbered reason. Within the limit per minute it is kept as it came, with key
      -- and headers, so that it can be sent again once its reason is gone.
      CREATE TABLE %1$I.rejected (
        partition int NOT NULL,
        topic text NOT NULL,
        record_offset bigint NOT NULL,
        batch_number bigint NOT NULL,
        arrival timestamptz NOT NULL,
        reason smallint NOT NULL,
        detail text NOT NULL,
        value bytea,
        value_length bigint NOT NULL,
        value_hash bytea NOT NULL,
        record_key bytea,
        -- NULL: key, value and headers together were beyond the limits.
        header_names bytea[],
        header_values bytea[],
        PRIMARY KEY (partition, topic, batch_number, record_offset),
        CHECK (cardinality(header_names) = cardinality(header_values))
      );
      -- People look for what was rejected lately.
      CREATE INDEX rejected_arrival ON %1$I.rejected USING brin (arrival);

      -- Sequences of inputs that this service misses; the producing service reads them and publishes again.
      CREATE TABLE %1$I.missing (
        number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        partition int NOT NULL,
        topic text NOT NULL,
        sequence bigint NOT NULL,
        noticed_at timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX ON %1$I.missing (partition, topic, number);

      -- Up to which row of each consumer's `missing` this service has answered.
      CREATE TABLE %1$I.answered_missing (
        consumer text NOT NULL,
        partition int NOT NULL,
        topic text NOT NULL,
        number bigint NOT NULL,
        PRIMARY KEY (consumer, partition, topic)
      );

      -- Sequences of outputs that will never be published, since retention took their rows before: consumers were told
      -- so in their place.
      CREATE TABLE %1$I.lost_sequence (
        partition int NOT NULL,
        topic text NOT NULL,
        first_sequence bigint NOT NULL,
        next_sequence bigint NOT NULL CHECK (next_sequence > first_sequence),
        found_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (partition, topic, first_sequence, next_sequence)
      );

      -- The windows that the service decides by, beside what it decided: who judges stored data later, such as the
      -- comparison of accounts, goes by the windows that were in force, whatever its own configuration says. One row
      -- for each change: a window is in force from then until the next row of its partition and name.
      CREATE TABLE %1$I.windows (
        partition int NOT NULL,
        -- The setting, such as HANDBILL_LATE_ARRIVAL.
        name text NOT NULL,
        in_force_from timestamptz NOT NULL,
        milliseconds bigint NOT NULL CHECK (milliseconds >= 0),
        PRIMARY KEY (partition, name, in_force_from)
      );

      -- Who takes part in the service: instances share the partitions by what they see here. The epoch is what decides
      -- who may write; an owner is who is to work. One row for each process that runs: its session holds an advisory
      -- lock on the table's oid and the number; a row whose lock is free is of a process that has ended.
      CREATE TABLE %1$I.member (
        member int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        -- Which process, for people: host and process id.
        instance text NOT NULL,
        joined_at timestamptz NOT NULL DEFAULT now(),
        -- Raised each half second or so: a process that stands still has a session, too.
        beat bigint NOT NULL DEFAULT 0
      ) WITH (fillfactor = 20);
      COMMENT ON TABLE %1$I.member IS 'The processes that run this service and share its partitions.';
    $ddl$, service);
  END LOOP;
END
$do$;

-- A group of columns, copied with LIKE by the tables whose rows are events of a served ad: the terms that its token
-- says (I2). It holds no rows itself.
CREATE TABLE public.terms (
  expires_at timestamptz NOT NULL,
  app text NOT NULL,
  developer text NOT NULL,
  advertiser text NOT NULL,
  campaign text NOT NULL,
  ad text NOT NULL,
  placement text NOT NULL,
  country text NOT NULL,
  device smallint NOT NULL,
  size smallint NOT NULL,
  impression_price bigint NOT NULL,
  click_price bigint NOT NULL,
  currency text NOT NULL,
  share_basis_points int NOT NULL,
  allotment bigint NOT NULL,
  budget_day int NOT NULL,
  client_hash bigint NOT NULL,
  is_test boolean NOT NULL
);
