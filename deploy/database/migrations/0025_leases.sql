-- Who takes part in a service, and who has which partition: instances share the partitions by what they see here. The
-- epoch stays what decides who may write; an owner is who is to work.
DO $$
DECLARE
  service text;
BEGIN
  FOREACH service IN ARRAY ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'] LOOP
    EXECUTE format($ddl$
      -- One row for each process that runs. Its session holds an advisory lock on the table's oid and the number; a row
      -- whose lock is free is of a process that has ended.
      CREATE TABLE %1$I.member (
        member int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        -- Which process, for people: host and process id.
        instance text NOT NULL,
        joined_at timestamptz NOT NULL DEFAULT now(),
        -- Raised each half second or so: a process that stands still has a session, too.
        beat bigint NOT NULL DEFAULT 0
      ) WITH (fillfactor = 20);
      COMMENT ON TABLE %1$I.member IS 'The processes that run this service and share its partitions.';

      -- The member that took the partition last; null once it gave it up. Members come and go, owners stay until the
      -- next one.
      ALTER TABLE %1$I.partition ADD owner int;
    $ddl$, service);
  END LOOP;
END
$$;
