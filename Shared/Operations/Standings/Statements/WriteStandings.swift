internal import AdCore
internal import JSON
internal import Postgres
internal import Runtime

/// Writes standings and takes others out: the console's only way into the catalogue.
struct WriteStandings: PostgresStatement {
  static let sql = "SELECT catalog.set_standings($1, $2, $3)"
  let lowered: [AppStanding]
  let gone: [AppID]

  var parameters: [any PostgresValue] {
    [
      lowered.map(\.app.text), lowered.map { PostgresJSON(CatalogJSON.value(of: .standing($0)).compactText) },
      gone.map(\.text),
    ]
  }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Int32 { try row.decode(0) }
}
