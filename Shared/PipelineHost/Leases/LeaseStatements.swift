/// The SQL of the leases of one service. The schema's name is the only thing that is not a parameter: it is one of
/// ours, never input.
struct LeaseStatements: Sendable {
  let schema: String

  /// Of the advisory lock that a member's session holds as long as it lives, beside the member's number.
  private var lockClass: String { "'\(schema).member'::regclass::oid::int" }

  /// The lock comes with the row: nobody sees one without the other.
  var join: String {
    "INSERT INTO \(schema).member (instance) VALUES ($1) RETURNING member, pg_try_advisory_lock(\(lockClass), member)"
  }

  /// What a member had in an earlier session, and nobody has taken since.
  var inherit: String { "UPDATE \(schema).partition SET owner = $1 WHERE owner = $2" }

  var remove: String { "DELETE FROM \(schema).member WHERE member = ANY ($1)" }

  /// Changes nothing where others have taken the member for gone.
  var beat: String { "UPDATE \(schema).member SET beat = beat + 1 WHERE member = $1" }

  /// Whoever can have a lock that only a member's own session takes, knows that this session has ended.
  var others: String {
    """
    SELECT member, beat, pg_try_advisory_xact_lock_shared(\(lockClass), member) FROM \(schema).member
    WHERE member <> $1
    """
  }

  var partitions: String { "SELECT partition, epoch, owner FROM \(schema).partition" }

  var clear: String { "UPDATE \(schema).partition SET owner = NULL WHERE owner = $1 AND partition = ANY ($2)" }
}
