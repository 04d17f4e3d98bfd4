internal import Pipeline
internal import Postgres

/// The SQL of the pipeline's bookkeeping for one service. The schema's name is the only thing that is not a parameter:
/// it is one of ours, never input.
struct PipelineStatements: Sendable {
  let schema: String

  /// Looks first: ON CONFLICT alone would wait for whoever is changing the row, a stopped zombie included.
  var ensurePartition: String {
    """
    INSERT INTO \(schema).partition (partition)
    SELECT $1 WHERE NOT EXISTS (SELECT FROM \(schema).partition WHERE partition = $1) ON CONFLICT DO NOTHING
    """
  }

  /// By right of a claim (``PartitionClaim``): the owner's $2, or by the epoch $3 that it was seen with.
  private var claimed: String { "partition = $1 AND (owner = $2 OR epoch = $3)" }

  var raiseEpoch: String {
    """
    UPDATE \(schema).partition SET epoch = epoch + 1, owner = $2, session = pipeline.session() WHERE \(claimed)
    RETURNING epoch, batch_number, watermark, outbox_id
    """
  }

  let keepWindows = "SELECT public.keep_windows($1, $2, $3, $4)"

  var terminateOwner: String {
    """
    SELECT pipeline.end_session(session, 2000) FROM \(schema).partition
    WHERE \(claimed) AND session <> pipeline.session()
    """
  }

  var inputs: String {
    """
    SELECT topic, next_offset, last_offset, last_timestamp, last_hash, consumed_sequence, consumed_watermark
    FROM \(schema).input WHERE partition = $1
    """
  }

  var outputs: String {
    "SELECT topic, next_sequence, confirmed_sequence FROM \(schema).output WHERE partition = $1"
  }

  /// The first statement of every transaction, and an error (``PostgresError/isFence``) unless epoch and batch number
  /// are what this owner last wrote: so what follows in the same pipeline does not happen. The function, whose call costs
  /// half as much as the change, is called only where there was none. The session is another one after a reconnection:
  /// it is the one to be ended should it stop.
  var fence: String {
    """
    WITH owned AS (
      UPDATE \(schema).partition
      SET batch_number = $4, watermark = $5, outbox_id = greatest(outbox_id, $6), session = pipeline.session()
      WHERE partition = $1 AND epoch = $2 AND batch_number = $3
      RETURNING 1
    )
    SELECT public.hold_fence(0) WHERE NOT EXISTS (SELECT FROM owned)
    """
  }

  var storeInput: String {
    """
    INSERT INTO \(schema).input
      (partition, topic, next_offset, last_offset, last_timestamp, last_hash, consumed_sequence, consumed_watermark)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    ON CONFLICT (partition, topic) DO UPDATE SET next_offset = excluded.next_offset,
      last_offset = excluded.last_offset, last_timestamp = excluded.last_timestamp, last_hash = excluded.last_hash,
      consumed_sequence = excluded.consumed_sequence, consumed_watermark = excluded.consumed_watermark
    """
  }

  var storeOutput: String {
    """
    INSERT INTO \(schema).output (partition, topic, next_sequence, confirmed_sequence) VALUES ($1, $2, $3, $4)
    ON CONFLICT (partition, topic) DO UPDATE SET next_sequence = excluded.next_sequence,
      confirmed_sequence = excluded.confirmed_sequence
    """
  }

  var storeWatermarks: String {
    """
    UPDATE \(schema).input SET consumed_watermark = taken.watermark
    FROM unnest($2::text[], $3::timestamptz[]) AS taken (topic, watermark)
    WHERE input.partition = $1 AND input.topic = taken.topic AND input.consumed_watermark <> taken.watermark
    """
  }

  var storeConfirmed: String {
    """
    UPDATE \(schema).output SET confirmed_sequence = sent.confirmed
    FROM unnest($2::text[], $3::bigint[]) AS sent (topic, confirmed)
    WHERE output.partition = $1 AND output.topic = sent.topic AND output.confirmed_sequence <> sent.confirmed
    """
  }

  var addBatch: String {
    """
    INSERT INTO \(schema).batch (partition, batch_number, committed_at, watermark, first_arrival, last_arrival,
      input_topics, first_offsets, next_offsets, output_topics, first_sequences, next_sequences, outcomes,
      rejected_not_kept, first_serve_id, last_serve_id)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    """
  }

  var addRejected: String {
    """
    INSERT INTO \(schema).rejected (partition, topic, record_offset, batch_number, arrival, reason, detail, value,
      value_length, value_hash, record_key, header_names, header_values)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
    """
  }

  var addOutbox: String {
    """
    INSERT INTO \(schema).outbox (partition, id, topic, target_partition, key, value, header_names, header_values)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
    """
  }

  var removeOutbox: String { "DELETE FROM \(schema).outbox WHERE partition = $1 AND id = ANY ($2)" }

  var addLost: String {
    """
    INSERT INTO \(schema).lost_range (partition, topic, first_offset, next_offset, batch_number, detail)
    VALUES ($1, $2, $3, $4, $5, $6)
    """
  }

  /// Found again after a restart it is the same row.
  var addLostSequences: String {
    """
    INSERT INTO \(schema).lost_sequence (partition, topic, first_sequence, next_sequence) VALUES ($1, $2, $3, $4)
    ON CONFLICT DO NOTHING
    """
  }

  /// Under the fence, which holds the partition's row.
  let addGapRequest = "SELECT pipeline.request_gap($1, $2, $3, $4)"

  var answerGapRequest: String {
    """
    INSERT INTO \(schema).answered_gap_request (consumer, partition, topic, number) VALUES ($1, $2, $3, $4)
    ON CONFLICT (consumer, partition, topic) DO UPDATE SET number = greatest(answered_gap_request.number, excluded.number)
    """
  }

  var outbox: String {
    """
    SELECT id, topic, target_partition, key, value, header_names, header_values
    FROM \(schema).outbox WHERE partition = $1 AND id > $2 ORDER BY id LIMIT $3
    """
  }

  /// Gap requests of a consumer that were not answered yet.
  func gapRequests(of consumer: String) -> String {
    """
    SELECT m.topic, m.number, m.sequence FROM \(consumer).gap_request m
    LEFT JOIN \(schema).answered_gap_request a
      ON a.consumer = $1 AND a.partition = m.partition AND a.topic = m.topic
    WHERE m.partition = $2 AND m.topic = ANY ($3) AND m.number > coalesce(a.number, 0) ORDER BY m.topic, m.number
    """
  }
}

extension PartitionClaim {
  /// Of the statements that ask for a claim.
  func parameters(_ partition: Int32) -> [any PostgresValue] { [partition, owner, seenEpoch] }
}
