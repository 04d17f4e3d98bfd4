internal import Pipeline
internal import Postgres

/// The SQL of the pipeline's bookkeeping for one service. The schema's name is the only thing that is not a parameter:
/// it is one of ours, never input.
struct PipelineStatements: Sendable {
  let schema: String

  /// Looks first: ON CONFLICT alone would wait for whoever is changing the row, a stopped zombie included.
  var ensurePartition: String {
    """
    INSERT INTO \(schema).partition (partition, timeline)
    SELECT $1, (SELECT id FROM timeline.timeline ORDER BY number DESC LIMIT 1) WHERE NOT EXISTS (SELECT FROM \(schema).partition WHERE partition = $1) ON CONFLICT DO NOTHING
    """
  }

  /// By right of a claim (``PartitionClaim``): the owner's $2, or by the epoch $3 that it was seen with.
  private var claimed: String { "partition = $1 AND (owner = $2 OR epoch = $3)" }

  var raiseEpoch: String {
    """
    UPDATE \(schema).partition SET epoch = pipeline.next_epoch(epoch), owner = $2, session = pipeline.session() WHERE \(claimed)
    RETURNING epoch, batch_number, watermark, outbox_id, timeline::text, \(PositionColumns.names)
    """
  }

  /// The positions by other topics than those that the row has, or in another order.
  var placePositions: String {
    """
    UPDATE \(schema).partition SET input_topics = $2, output_topics = $3, \(PositionColumns.assignments(from: 4))
    WHERE partition = $1
    """
  }

  let keepWindows = "SELECT public.keep_windows($1, $2, $3, $4)"

  var terminateOwner: String {
    """
    SELECT pipeline.end_session(session, 2000) FROM \(schema).partition
    WHERE \(claimed) AND session <> pipeline.session()
    """
  }

  let timelines = "SELECT id::text, number FROM timeline.timeline ORDER BY number"

  let finding = "SELECT detail FROM timeline.finding WHERE service = $1 AND partition = $2"

  let noteFinding = "SELECT timeline.note_finding($1, $2, $3, $4)"

  var lostSequences: String {
    """
    SELECT topic, first_sequence, next_sequence, timeline FROM timeline.lost_sequence WHERE partition = $1 AND topic = ANY ($2)
    ORDER BY topic, first_sequence
    """
  }

  /// How far whoever writes the topic $2 has come. The schema is one of ours.
  func writer(_ writer: String) -> String {
    """
    SELECT coalesce(next_sequences[array_position(output_topics, $2)], 1) - 1, batch_number FROM \(writer).partition
    WHERE partition = $1
    """
  }

  /// The first statement of every batch: the fence, the positions and the batch's row. An error (``PostgresError/isFence``)
  /// unless epoch and batch number are what this owner last wrote: so what follows in the same pipeline does not happen. The
  /// function, whose call costs half as much as the change, is called only where there was none. The session is another one
  /// after a reconnection: it is the one to be ended should it stop.
  var beginBatch: String {
    """
    WITH owned AS (
      UPDATE \(schema).partition
      SET batch_number = $4, watermark = $5, outbox_id = greatest(outbox_id, $6), session = pipeline.session(),
        \(PositionColumns.assignments(from: 7))
      WHERE partition = $1 AND epoch = $2 AND batch_number = $3
      RETURNING 1
    ), added AS (
      INSERT INTO \(schema).batch (partition, batch_number, watermark, next_offsets, next_sequences, committed_at,
        first_arrival, last_arrival, input_topics, first_offsets, output_topics, first_sequences, outcomes,
        rejected_not_kept, first_serve_id, last_serve_id, recent_serve_id, named_serve_ids)
      SELECT $1, $4, $5, $7, $13, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27
      FROM owned
    )
    \(fenceHolds)
    """
  }

  /// The one statement of a checkpoint besides those of gap requests, deliveries and losses, fenced like a batch.
  var saveCheckpoint: String {
    """
    WITH owned AS (
      UPDATE \(schema).partition
      SET watermark = $4, consumed_watermarks = $5, confirmed_sequences = $6, session = pipeline.session()
      WHERE partition = $1 AND epoch = $2 AND batch_number = $3
      RETURNING 1
    )
    \(fenceHolds)
    """
  }

  private var fenceHolds: String { "SELECT public.hold_fence(0) WHERE NOT EXISTS (SELECT FROM owned)" }

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
