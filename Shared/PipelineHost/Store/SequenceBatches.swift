/// SQL that finds the rows of the batches in which sequences were given. The batch rows say which batches those are, and
/// between which serve ids their rows lie: no other row is read, however many there are.
package enum SequenceBatches {
  /// `WITH bounds …`, one row: of partition `$1` the batches that gave sequence `$2` and later ones, at most `$3` of them.
  package static func bounds(_ schema: String) -> String {
    """
    WITH bounds AS (
      SELECT min(batch_number) AS first, max(batch_number) AS last, min(first_serve_id::text)::uuid AS first_id,
        max(last_serve_id::text)::uuid AS last_id, max(next) AS next
      FROM (
        SELECT batch_number, first_serve_id, last_serve_id, next_sequences[1] AS next FROM \(schema).batch
        WHERE partition = $1 AND next_sequences[1] > $2 AND next_sequences[1] > first_sequences[1]
        ORDER BY next_sequences[1] LIMIT $3
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

  /// What holds for a row of those batches, joined with `counting`.
  package static let counted = """
    serve_id BETWEEN counting.first_id AND counting.last_id
      AND partition = $1 AND batch_number > $2 AND batch_number <= $3
    """

  /// What holds for such a row, joined with `bounds`.
  package static let condition = """
    serve_id BETWEEN bounds.first_id AND bounds.last_id
      AND partition = $1 AND batch_number BETWEEN bounds.first AND bounds.last AND sequence >= $2
    """
}
