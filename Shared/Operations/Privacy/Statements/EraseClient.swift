internal import AdCore
internal import Postgres

/// Takes a client out of a range of serves; its row says out of how many requests.
struct EraseClient: PostgresStatement {
  static let isPrepared = false
  static let sql = "SELECT public.erase_client($1, $2, $3)"
  let hashes: [Int64]
  let range: ServeRange

  var parameters: [any PostgresValue] { [hashes] + range.parameters }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int64 { try row.decode(0) }
}
