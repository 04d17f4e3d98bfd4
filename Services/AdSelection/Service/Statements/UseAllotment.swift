import AdCore
import Postgres

/// Notes what an allotment has used. The table refuses more than was granted, and any use of a closed one.
///
/// One at a time: joined with a list of them, PostgreSQL reads the whole table while it is small.
struct UseAllotment: PostgresStatement {
  static let sql = "UPDATE ad_selection.allotment SET used = $3 WHERE id = $2 AND partition = $1"
  let partition: Int32
  let id: UInt64
  let used: Nanos

  var parameters: [any PostgresValue] { [partition, Int64(bitPattern: id), used.value] }
}
