/// SQL that finds the rows of the batches in which sequences were given. The batch rows say which batches those are, and
/// between which serve ids their rows lie: no other row is read, however many there are. What is read between those ids is
/// planned by itself, by an OFFSET that moves nothing: joined with them, the planner expects that few rows have the sequence
/// or the batch's number, and looks for those in all days.
package enum SequenceBatches {
  /// `WITH … bounds`, one row: of partition `$1` the first batch that gave sequence `$2` or a later one, and those after it
  /// that gave no more than the next `$3`: who is far behind reads no row twice.
  package static func bounds(_ schema: String) -> String {
    """
    WITH first_batch AS (
      SELECT next_sequences[1] AS next FROM \(schema).batch
      WHERE partition = $1 AND next_sequences[1] > $2 AND next_sequences[1] > first_sequences[1]
      ORDER BY next_sequences[1] LIMIT 1
    ), bounds AS (
      SELECT min(batch_number) AS first, max(batch_number) AS last, min(first_serve_id::text)::uuid AS first_id,
        max(last_serve_id::text)::uuid AS last_id, max(next) AS next
      FROM (
        SELECT batch_number, first_serve_id, last_serve_id, next_sequences[1] AS next FROM \(schema).batch
        WHERE partition = $1 AND next_sequences[1] > $2 AND next_sequences[1] > first_sequences[1]
          AND next_sequences[1] <= (SELECT next FROM first_batch) + $3
      ) AS batches
    )
    """
  }

  /// `WITH counting …`, one row: between which serve ids the rows lie of the batches of partition `$1` after `$2` up to `$3`.
  package static func counting(_ schema: String) -> String {
    """
    WITH counting AS (
      SELECT min(first_serve_id::text)::uuid AS first_id, max(last_serve_id::text)::uuid AS last_id
      FROM \(schema).batch WHERE partition = $1 AND batch_number > $2 AND batch_number <= $3
    )
    """
  }

  /// The rows of those batches, to stand behind FROM.
  ///
  /// - Parameter source: a table, a view, or a function of the ids between which its rows are to lie.
  package static func counted(_ source: String) -> String {
    """
    counting CROSS JOIN LATERAL (
      SELECT * FROM \(source) WHERE serve_id BETWEEN counting.first_id AND counting.last_id
        AND partition = $1 AND batch_number > $2 AND batch_number <= $3
      OFFSET 0
    ) AS stored
    """
  }

  /// `FROM … LIMIT $3`: the rows of those `bounds` from sequence `$2` on, with their terms. Each row's are looked up by
  /// their name: the planner expects few rows, and joined otherwise it compares each with all terms.
  package static func rows(of table: String, in schema: String) -> String {
    """
    FROM bounds CROSS JOIN LATERAL (
      SELECT * FROM \(schema).\(table)
      WHERE serve_id BETWEEN bounds.first_id AND bounds.last_id
        AND partition = $1 AND batch_number BETWEEN bounds.first AND bounds.last AND sequence >= $2
      OFFSET 0
    ) AS stored LEFT JOIN LATERAL (
      SELECT public.time_of(stored.serve_id) + life_ms * interval '1 millisecond' AS expires_at, app, developer,
        advertiser, campaign, ad, impression_price, click_price, currency, share_basis_points
      FROM \(schema).terms WHERE name = stored.terms OFFSET 0
    ) AS named ON true
    ORDER BY sequence LIMIT $3
    """
  }
}
