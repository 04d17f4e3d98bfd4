internal import AdCore
internal import AdSelectionCore
internal import Postgres

/// Notes what an allotment has used. The table refuses more than was granted, and any use of a closed one.
///
/// One at a time: joined with a list of them, PostgreSQL reads the whole table while it is small.
struct UseAllotment: PostgresStatement {
  static let sql = "UPDATE ad_selection.allotment SET used = $3, used_for_clicks = $4 WHERE id = $2 AND partition = $1"
  let partition: Int32
  let id: UInt64
  let used: AllotmentUse

  var parameters: [any PostgresValue] { [partition, id, used.total, used.forClicks] }
}
