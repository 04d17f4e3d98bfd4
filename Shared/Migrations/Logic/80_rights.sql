-- Who may do what: a role for each service, for the console, for the command and for who reads reports. Nobody logs in as one
-- of them: logins are members (docs/operations.md, "Who may do what"). What is not said here nobody but the owner may do.
--
-- Each run of the migrations takes all rights and gives these: none is left over, and none is missing where a role came later.

DO $do$
DECLARE
  services text[] := ARRAY['ad_selection', 'impression_tracking', 'click_tracking', 'billing'];
  schemas text[] := services
    || ARRAY['catalog', 'console', 'reporting', 'sealed', 'timeline', 'vocabulary', 'pipeline', 'treasury'];
  roles text[] := ARRAY(SELECT 'handbill_' || name FROM unnest(services) AS name)
    || ARRAY['handbill_console', 'handbill_command', 'handbill_reporting'];
  name text;
  everybody text;
  given record;
BEGIN
  -- Roles belong to the whole server: one may be there already, and whoever owns one database may not be allowed to make it.
  FOREACH name IN ARRAY roles LOOP
    CONTINUE WHEN to_regrole(name) IS NOT NULL;
    BEGIN
      EXECUTE format('CREATE ROLE %I NOLOGIN', name);
    EXCEPTION
      WHEN duplicate_object OR unique_violation THEN
        RAISE NOTICE 'role % was made by somebody else just now', name;
      WHEN insufficient_privilege THEN
        RAISE NOTICE 'no right to make role %: make it as an administrator, then migrate once more', name;
    END;
  END LOOP;

  -- Take: of our schemas, of what is in them, and of the functions that work in the owner's name.
  SELECT concat_ws(', ', 'PUBLIC', string_agg(rolname::text, ', ')) INTO everybody FROM pg_roles WHERE rolname = ANY (roles);
  FOREACH name IN ARRAY schemas LOOP
    EXECUTE format('REVOKE ALL ON SCHEMA %I FROM %s', name, everybody);
    EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA %I FROM %s', name, everybody);
    -- What is made between two runs, such as a day's table, is nobody's.
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I REVOKE ALL ON TABLES FROM %s', name, everybody);
  END LOOP;
  FOR name IN
    SELECT c.oid::regclass FROM pg_class c
    WHERE (c.relnamespace::regnamespace::text = ANY (schemas)
        OR c.oid IN ('public.schema_migration'::regclass, 'public.schema_logic'::regclass))
      AND c.relkind IN ('r', 'p', 'v') AND (c.relacl IS NOT NULL
        OR EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attacl IS NOT NULL))
  LOOP
    EXECUTE format('REVOKE ALL ON %s FROM %s', name, everybody);
  END LOOP;
  FOR name IN
    SELECT oid::regprocedure FROM pg_proc
    WHERE prosecdef AND pronamespace::regnamespace::text = ANY (schemas || 'public'::text) AND pg_has_role(proowner, 'USAGE')
  LOOP
    EXECUTE format('REVOKE ALL ON FUNCTION %s FROM %s', name, everybody);
  END LOOP;
  REVOKE CREATE ON SCHEMA public FROM PUBLIC;

  -- Give.
  FOR given IN
    WITH service AS (
      SELECT own AS name, 'handbill_' || own AS role FROM unnest(services) AS own
    ), relation AS (
      SELECT c.relnamespace::regnamespace::text AS schema, c.oid::regclass::text AS relation_name FROM pg_class c
      WHERE c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
    ), reader (role, schema) AS (
      -- Everybody reads what is his own, console and command everything.
      SELECT role, service.name FROM service
      UNION ALL SELECT role, names FROM service, unnest(ARRAY['vocabulary', 'pipeline', 'timeline']) AS names
      UNION ALL SELECT role, schema FROM unnest(ARRAY['handbill_console', 'handbill_command']) AS role,
        unnest(schemas) AS schema
      UNION ALL VALUES ('handbill_reporting', 'reporting')
    )
    SELECT role, 'USAGE' AS privileges, 'SCHEMA ' || schema AS object FROM reader
    UNION ALL SELECT role, 'SELECT', relation_name FROM reader JOIN relation USING (schema)
    -- Every program looks whether the database is of its release.
    UNION ALL SELECT DISTINCT role, 'SELECT', 'public.schema_migration, public.schema_logic' FROM reader
    WHERE role <> 'handbill_reporting'
    -- Who sends a message again looks for those that its consumers miss.
    UNION ALL SELECT 'handbill_' || producer, privileges, format(object, consumer)
    FROM (VALUES ('ad_selection', 'billing'), ('impression_tracking', 'click_tracking'), ('impression_tracking', 'billing'),
        ('click_tracking', 'billing'), ('billing', 'ad_selection')) AS asks (producer, consumer),
      (VALUES ('USAGE', 'SCHEMA %I'), ('SELECT', '%I.gap_request')) AS needed (privileges, object)

    -- Who reads messages looks first whether those who write them know of them.
    UNION ALL SELECT 'handbill_' || consumer, privileges, format(object, producer)
    FROM (VALUES ('ad_selection', 'billing'), ('impression_tracking', 'click_tracking'), ('impression_tracking', 'billing'),
        ('click_tracking', 'billing'), ('billing', 'ad_selection')) AS reads (producer, consumer),
      (VALUES ('USAGE', 'SCHEMA %I'),
        ('SELECT (partition, batch_number, output_topics, next_sequences)', '%I.partition')) AS needed (privileges, object)
    UNION ALL SELECT role, 'EXECUTE', 'FUNCTION timeline.note_finding' FROM service
    UNION ALL VALUES ('handbill_command', 'EXECUTE', 'FUNCTION timeline.begin'),
      ('handbill_command', 'EXECUTE', 'FUNCTION timeline.name_lost_serves')

    -- What each service does with its partitions. Its batches, what it rejected and what it lost stay as they are written:
    -- only what is sealed goes, by public.forget_batches and billing.forget_journals.
    UNION ALL SELECT role, privileges, format('%I.%I', service.name, written) FROM service, (VALUES
      ('partition', 'INSERT, UPDATE (epoch, session, batch_number, watermark, outbox_id, owner, input_topics,
        output_topics, next_offsets, last_offsets, last_timestamps, last_hashes, consumed_sequences, consumed_watermarks,
        next_sequences, confirmed_sequences)'),
      ('batch', 'INSERT'), ('rejected', 'INSERT'), ('lost_range', 'INSERT'), ('lost_sequence', 'INSERT'),
      ('gap_request', 'INSERT'), ('answered_gap_request', 'INSERT, UPDATE (number)'), ('outbox', 'INSERT, DELETE'),
      ('member', 'INSERT, UPDATE (beat), DELETE'), ('terms', 'INSERT, UPDATE (last_day)'),
      ('counted', 'INSERT, UPDATE (batch_number)')) AS writes (written, privileges)
    UNION ALL SELECT role, 'EXECUTE', 'FUNCTION ' || works FROM service, unnest(ARRAY['public.keep_days',
      'public.drop_day', 'public.keep_count_tables', 'public.fold_counts', 'public.drop_counts', 'public.roll_up_counts',
      'public.fold_rollups', 'public.keep_windows', 'public.forget_batches',
      'public.forget_allotments', 'public.forget_terms', 'public.forget_clients', 'public.forget_rejected']) AS works
    -- A service looks up to when days are sealed.
    UNION ALL SELECT role, privileges, object FROM service, (VALUES ('USAGE', 'SCHEMA sealed'), ('SELECT', 'sealed.head'))
      AS looks (privileges, object)

    -- What is a service's own. Rows of events are added, and stay.
    UNION ALL SELECT 'handbill_' || split_part(object, '.', 1), privileges, object FROM (VALUES
      ('ad_selection.decision_row', 'INSERT'), ('ad_selection.decision_pack', 'INSERT'), ('ad_selection.creative', 'INSERT, UPDATE (last_day)'),
      ('ad_selection.allotment', 'INSERT, UPDATE (used, used_for_clicks, closed_at, report_sequence)'),
      ('ad_selection.auction_rules', 'INSERT'), ('ad_selection.minute_count', 'INSERT'),
      ('ad_selection.packed_count', 'INSERT'),
      ('ad_selection.keyless_count', 'INSERT, UPDATE (requests), DELETE'),
      ('impression_tracking.impression_row', 'INSERT'), ('impression_tracking.delivery_row', 'INSERT'),
      ('impression_tracking.delivery_pack', 'INSERT'),
      ('impression_tracking.failure', 'INSERT'), ('impression_tracking.minute_count', 'INSERT'),
      ('impression_tracking.packed_count', 'INSERT'),
      ('click_tracking.impression_pack', 'INSERT'), ('click_tracking.click_row', 'INSERT'),
      ('click_tracking.stopped_action', 'INSERT'), ('click_tracking.conversion', 'INSERT'), ('click_tracking.parked_row', 'INSERT, DELETE'),
      ('click_tracking.minute_count', 'INSERT'), ('click_tracking.packed_count', 'INSERT'),
      ('billing.charge_row', 'INSERT'), ('billing.charge_pack', 'INSERT'), ('billing.suspense', 'INSERT'),
      ('billing.minute_revenue', 'INSERT'),
      ('billing.packed_revenue', 'INSERT'), ('billing.held_row', 'INSERT'),
      ('billing.app_hour', 'INSERT, UPDATE (impressions, clicks), DELETE'),
      ('billing.unfunded_cap', 'INSERT, UPDATE (nanos)'),
      ('billing.click_count', 'INSERT, UPDATE (impressions, clicks), DELETE')) AS own (object, privileges)
    -- Budgets, allotments, the journal and balances change by these alone.
    UNION ALL SELECT 'handbill_billing', 'EXECUTE', 'FUNCTION ' || works
    FROM unnest(ARRAY['billing.settle', 'billing.forget_journals', 'treasury.fund_account', 'treasury.fund_campaign']) AS works
    UNION ALL SELECT 'handbill_billing', 'USAGE', 'SCHEMA treasury'

    UNION ALL VALUES
      -- A failure without an ad counts by its app's key, and so does a conversion.
      ('handbill_impression_tracking', 'USAGE', 'SCHEMA catalog'),
      ('handbill_impression_tracking', 'SELECT', 'catalog.app_key'),
      ('handbill_click_tracking', 'USAGE', 'SCHEMA catalog'), ('handbill_click_tracking', 'SELECT', 'catalog.app_key'),
      -- The console marks what is unusual, and seals days: their sums are added to, and never changed.
      ('handbill_console', 'INSERT, UPDATE (events, of_events, limit_basis_points, changed_at)', 'console.anomaly'),
      ('handbill_console', 'INSERT, DELETE', 'sealed.part'), ('handbill_console', 'EXECUTE', 'FUNCTION sealed.seal'),
      ('handbill_console', 'EXECUTE', 'FUNCTION catalog.forget_history'),
      ('handbill_console', 'EXECUTE', 'FUNCTION console.forget_anomalies'),
      -- Of the catalogue it writes what apps are offered, and nothing else.
      ('handbill_console', 'EXECUTE', 'FUNCTION catalog.set_standings'),
      -- The command edits the catalogue.
      ('handbill_command', 'INSERT, UPDATE (body, version, change_number, changed_at, deleted_at)', 'catalog.record'),
      ('handbill_command', 'INSERT', 'catalog.history'), ('handbill_command', 'INSERT', 'catalog.under_17_bundle'),
      ('handbill_command', 'USAGE', 'SEQUENCE catalog.change_number'),
      -- By it a person decides about what is held or in suspense, and takes a client out of what is stored.
      ('handbill_command', 'EXECUTE', 'FUNCTION billing.resolve_held'),
      ('handbill_command', 'EXECUTE', 'FUNCTION billing.retry_suspended'),
      ('handbill_command', 'UPDATE (voided_at, void_reason)', 'billing.suspense'),
      ('handbill_command', 'EXECUTE', 'FUNCTION public.erase_client')
    -- By the command a person moves a position in a log, and has messages sent again.
    UNION ALL SELECT 'handbill_command', privileges, format('%I.%I', service.name, written) FROM service, (VALUES
      ('partition', 'UPDATE (epoch, batch_number, next_offsets, last_offsets, last_timestamps, last_hashes)'),
      ('gap_request', 'INSERT'), ('batch', 'INSERT'), ('lost_range', 'INSERT')) AS moves (written, privileges)
  LOOP
    CONTINUE WHEN to_regrole(given.role) IS NULL;
    EXECUTE format('GRANT %s ON %s TO %I', given.privileges, given.object, given.role);
  END LOOP;
END
$do$;
