internal import AdCore
internal import Postgres

/// Notes what the network bears at most of an app's day in all partitions (B4): what a person has settled of this one goes
/// by it. What is noted already writes nothing.
struct NoteUnfundedCap: PostgresStatement {
  static let sql = """
    INSERT INTO billing.unfunded_cap (partition, nanos)
    SELECT $1::int, $2::bigint
    WHERE NOT EXISTS (SELECT FROM billing.unfunded_cap c WHERE c.partition = $1::int AND c.nanos = $2::bigint)
    ON CONFLICT (partition) DO UPDATE SET nanos = excluded.nanos
    """
  let partition: Int32
  let cap: Nanos

  var parameters: [any PostgresValue] { [partition, cap] }
}
