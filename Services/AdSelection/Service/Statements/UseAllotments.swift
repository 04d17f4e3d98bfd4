import AdCore
import Postgres

/// Notes what allotments have used. The table refuses more than was granted, and any use of a closed one.
struct UseAllotments: PostgresStatement {
  static let sql = """
    UPDATE ad_selection.allotment SET used = sold.used
    FROM unnest($2::bigint[], $3::bigint[]) AS sold (id, used)
    WHERE allotment.id = sold.id AND allotment.partition = $1
    """
  let partition: Int32
  let used: [UInt64: Nanos]

  var parameters: [any PostgresValue] {
    let rows = Array(used)
    return [partition, rows.map { Int64(bitPattern: $0.key) }, rows.map(\.value.value)]
  }
}
