-- Lost commits: a partition that finds them stops, and a person begins a new timeline.

-- A service's partition stops until a person has decided. What was found first stays. By its owner alone: who was fenced,
-- as when a timeline was begun, has seen what is no more.
CREATE OR REPLACE FUNCTION timeline.note_finding(service_name text, partition_number int, owner_epoch bigint, what text)
RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  is_owner boolean;
BEGIN
  PERFORM public.hold_service(service_name);
  EXECUTE format('SELECT epoch = $2 FROM %I.partition WHERE partition = $1 FOR UPDATE', service_name)
  INTO is_owner USING partition_number, owner_epoch;
  IF is_owner IS NOT TRUE THEN PERFORM public.hold_fence(0); END IF;
  INSERT INTO timeline.finding (service, partition, detail) VALUES (service_name, partition_number, what)
  ON CONFLICT DO NOTHING;
END
$function$;

-- Which service writes which topic with sequences.
CREATE OR REPLACE FUNCTION timeline.writers() RETURNS TABLE (topic text, service text) LANGUAGE sql IMMUTABLE AS $function$
  VALUES ('ads.usage', 'ad_selection'), ('ads.impressions.accepted', 'impression_tracking'),
    ('ads.clicks.accepted', 'click_tracking'), ('ads.budgets', 'billing')
$function$;

-- How far each partition has come in a topic, as its rows say.
CREATE OR REPLACE FUNCTION timeline.standing() RETURNS TABLE (topic text, service text, partition int, sequence bigint, batch bigint)
LANGUAGE plpgsql STABLE AS $function$
DECLARE
  writer record;
BEGIN
  FOR writer IN SELECT * FROM timeline.writers() LOOP
    RETURN QUERY EXECUTE format($sql$
      SELECT $1, $2, p.partition, coalesce(o.next_sequence, 1) - 1, p.batch_number FROM %1$I.partition p
      LEFT JOIN %1$I.output o ON o.partition = p.partition AND o.topic = $1
    $sql$, writer.service) USING writer.topic, writer.service;
  END LOOP;
END
$function$;

-- Where commits are lost: partitions that have stopped, and topics that tell of more than the tables know. `told` are the
-- last marks of topics and partitions, in arrays of equal length.
CREATE OR REPLACE FUNCTION timeline.losses(topics text[], partitions int[], timelines uuid[], sequences bigint[], batches bigint[])
RETURNS TABLE (service text, partition int, detail text) LANGUAGE sql STABLE AS $function$
  WITH told AS (
    SELECT * FROM unnest(topics, partitions, timelines, sequences, batches) AS t (topic, partition, timeline, sequence, batch)
  ), compared AS (
    SELECT w.service, t.partition, t.topic, t.sequence AS told_sequence, t.batch AS told_batch,
      coalesce(s.sequence, 0) AS sequence, coalesce(s.batch, 0) AS batch,
      k.number IS NULL AS is_unknown,
      k.number = (SELECT max(number) FROM timeline.timeline) AS is_current
    FROM told t JOIN timeline.writers() w USING (topic)
    LEFT JOIN timeline.standing() s ON s.topic = t.topic AND s.partition = t.partition
    LEFT JOIN timeline.timeline k ON k.id = t.timeline
  )
  SELECT f.service, f.partition, f.detail FROM timeline.finding f
  UNION ALL
  SELECT c.service, c.partition, format('%s tells of sequence %s and batch %s%s; the database knows %s and %s', c.topic,
    c.told_sequence, c.told_batch, CASE WHEN c.is_unknown THEN ' of a timeline that it does not know' ELSE '' END, c.sequence,
    c.batch)
  FROM compared c
  WHERE c.is_unknown OR c.told_sequence > c.sequence OR c.is_current AND c.told_batch > c.batch
$function$;

-- Moves a service's partitions into a timeline, above everything that its topic tells: `told_sequences` are the last of
-- `told_partitions`. All are fenced by an epoch far above any that was lost: who had one of those and stands still can never
-- pass for the new owner.
CREATE OR REPLACE FUNCTION timeline.move_partitions(
  service text, topic text, told_partitions int[], told_sequences bigint[], new_number int, new_id uuid
) RETURNS void LANGUAGE plpgsql AS $function$
DECLARE
  moved record;
BEGIN
  -- Whoever makes a partition meanwhile waits, and makes it in the new timeline. No worker's transaction holds two of these.
  EXECUTE format('LOCK TABLE %I.partition IN EXCLUSIVE MODE', service);
  -- A backup may be older than a partition.
  EXECUTE format('INSERT INTO %I.partition (partition) SELECT unnest($1) ON CONFLICT DO NOTHING', service)
  USING told_partitions;
  EXECUTE format('UPDATE %I.partition SET output_topics = ARRAY[$1], next_sequences = ''{1}'', confirmed_sequences = ''{0}''
    WHERE partition = ANY ($2) AND cardinality(output_topics) = 0', service) USING topic, told_partitions;
  FOR moved IN EXECUTE format('UPDATE %I.partition SET epoch = pipeline.next_epoch(epoch) + 1000000,
    batch_number = batch_number + 1, timeline = $1 RETURNING partition, batch_number', service) USING new_id
  LOOP
    PERFORM public.add_empty_batch(service, moved.partition, moved.batch_number);
  END LOOP;
  EXECUTE format($sql$
    WITH passed AS (
      INSERT INTO timeline.lost_sequence (topic, partition, first_sequence, next_sequence, timeline)
      SELECT o.topic, o.partition, o.next_sequence, greatest(o.next_sequence, t.sequence + 1) + 1, $4
      FROM %1$I.output o JOIN unnest($2, $3) AS t (partition, sequence) ON t.partition = o.partition
      WHERE o.topic = $1
      RETURNING topic, partition, first_sequence, next_sequence
    ), noted AS (
      INSERT INTO %1$I.lost_sequence (partition, topic, first_sequence, next_sequence)
      SELECT partition, topic, first_sequence, next_sequence FROM passed ON CONFLICT DO NOTHING
    )
    -- A service has one output.
    UPDATE %1$I.partition p SET next_sequences = ARRAY[passed.next_sequence] FROM passed
    WHERE p.partition = passed.partition
  $sql$, service) USING topic, told_partitions, told_sequences, new_number;
END
$function$;

-- Begins a timeline, above everything that the topics tell, whatever was lost: nobody goes on in the last one. Who has lost
-- decisions to serve ads: those of ad selection's partitions where commits are lost; ads that were served between the last
-- decision that is known and now were served by them.
CREATE OR REPLACE FUNCTION timeline.begin(topics text[], partitions int[], timelines uuid[], sequences bigint[], batches bigint[],
  why text
) RETURNS int LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  new_number int;
  new_id uuid;
  -- Partitions of ad selection. Looked for first: what the topics tell of is known afterwards.
  lost_partitions int[];
BEGIN
  SET LOCAL lock_timeout = '5s';
  LOCK TABLE timeline.timeline IN EXCLUSIVE MODE;
  lost_partitions := ARRAY(
    SELECT DISTINCT l.partition FROM timeline.losses(topics, partitions, timelines, sequences, batches) l
    WHERE l.service = 'ad_selection');
  -- A backup may be of before an earlier restore was accepted: what was begun then has ended, too.
  INSERT INTO timeline.timeline (number, id, reason)
  SELECT (SELECT max(number) FROM timeline.timeline) + row_number() OVER (ORDER BY t.id), t.id, 'told by the topics'
  FROM (SELECT DISTINCT unnest(timelines) AS id) AS t
  WHERE NOT EXISTS (SELECT FROM timeline.timeline k WHERE k.id = t.id);
  INSERT INTO timeline.timeline (number, reason) SELECT max(number) + 1, why FROM timeline.timeline
  RETURNING number, id INTO new_number, new_id;

  INSERT INTO timeline.lost_serve (partition, first_id, next_id, timeline)
  SELECT l.partition, public.first_uuid_at(coalesce((
      SELECT b.committed_at FROM ad_selection.batch b WHERE b.partition = l.partition ORDER BY b.batch_number DESC LIMIT 1
    ), '-infinity')), public.first_uuid_at(clock_timestamp()), new_number
  FROM unnest(lost_partitions) AS l (partition)
  ON CONFLICT (partition, first_id) DO UPDATE SET next_id = greatest(lost_serve.next_id, excluded.next_id);

  PERFORM timeline.move_partitions(w.service, w.topic, t.partitions, t.sequences, new_number, new_id)
  FROM timeline.writers() AS w CROSS JOIN LATERAL (
    SELECT array_agg(told.partition) AS partitions, array_agg(told.sequence) AS sequences
    FROM unnest(topics, partitions, sequences) AS told (topic, partition, sequence) WHERE told.topic = w.topic) AS t;
  DELETE FROM timeline.finding;
  RETURN new_number;
END
$function$;

-- Accepted events of ads whose decision is lost and that no range names yet: each gets one of its own. Looks at what is not
-- sealed. Says how many ads there were.
CREATE OR REPLACE FUNCTION timeline.name_lost_serves() RETURNS bigint LANGUAGE plpgsql
SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
DECLARE
  from_id uuid;
  named bigint;
BEGIN
  SELECT public.first_uuid_at(open_from) FROM sealed.head INTO from_id;
  INSERT INTO timeline.lost_serve (partition, first_id, next_id, timeline)
  SELECT DISTINCT e.partition, e.serve_id, timeline.next_uuid(e.serve_id), (SELECT max(number) FROM timeline.timeline)
  FROM (
    SELECT partition, serve_id FROM impression_tracking.impression_row WHERE serve_id >= from_id
    UNION SELECT partition, serve_id FROM click_tracking.click_row WHERE serve_id >= from_id
  ) AS e
  WHERE NOT EXISTS (
      SELECT FROM ad_selection.outcomes(from_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff') d
      WHERE d.serve_id = e.serve_id AND d.partition = e.partition)
    AND NOT EXISTS (
      SELECT FROM timeline.lost_serve l WHERE l.partition = e.partition AND e.serve_id >= l.first_id AND e.serve_id < l.next_id)
  ON CONFLICT DO NOTHING;
  GET DIAGNOSTICS named = ROW_COUNT;
  RETURN named;
END
$function$;

-- The UUID after this one; of the last one, itself.
CREATE OR REPLACE FUNCTION timeline.next_uuid(id uuid) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (substr(t.hex, 1, 16) || lpad(to_hex(('x' || substr(t.hex, 17, 16))::bit(64)::bigint + 1), 16, '0'))::uuid
  FROM (SELECT replace(id::text, '-', '') AS hex) AS t
$function$;
