internal import AdEvents
internal import Postgres

/// Sequences of a partition's grants that lost commits made, and those that a timeline left out: few ranges.
struct ReadLostGrants: PostgresStatement {
  static let sql = """
    SELECT first_sequence, next_sequence FROM timeline.lost_sequence WHERE topic = $1 AND partition = $2
    ORDER BY first_sequence
    """
  let partition: Int32

  var parameters: [any PostgresValue] { [Topic.budgets.name, partition] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Range<Int64> {
    let (first, next): (Int64, Int64) = (try row.decode(0), try row.decode(1))
    return first..<max(first, next)
  }
}
