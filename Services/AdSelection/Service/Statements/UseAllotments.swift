internal import AdCore
internal import AdSelectionCore
internal import Postgres

/// Notes what allotments have used. The table refuses more than was granted, and any use of a closed one.
struct UseAllotments: PostgresStatement {
  static let sql = "SELECT ad_selection.use_allotments($1, $2, $3, $4)"
  let partition: Int32
  let used: [UInt64: AllotmentUse]

  var parameters: [any PostgresValue] {
    let uses = Array(used)
    return [partition, uses.map(\.key), uses.map(\.value.total), uses.map(\.value.forClicks)]
  }
}
