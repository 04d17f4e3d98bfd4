internal import AdCore
internal import JSON
internal import Postgres
internal import Runtime

/// The network's rules of standings; none where it has no settings yet.
struct ReadStandingRules: PostgresStatement {
  static let sql = "SELECT body FROM catalog.record WHERE key = 'settings' AND deleted_at IS NULL"

  static func decode(_ row: PostgresRow) throws(PostgresError) -> StandingRules {
    let body: PostgresJSON = try row.decode(0)
    guard let value = try? JSONValue.parse(body.text.utf8),
      case .settings(let settings)? = CatalogJSON.record(stored: value, kind: .settings)
    else { throw .undecodable(column: 0, "settings that this program cannot read") }
    return settings.standing
  }
}

/// What apps are offered now that are not offered everything.
struct ReadStandingsInForce: PostgresStatement {
  struct Row: Sendable {
    let app: AppID
    let offerPartsPerMillion: Int64
    let isAppThere: Bool
  }

  static let sql = """
    SELECT s.body ->> 'app', (s.body ->> 'offerPartsPerMillion')::bigint, EXISTS (
      SELECT FROM catalog.record a WHERE a.key = 'app/' || (s.body ->> 'app') AND a.deleted_at IS NULL)
    FROM catalog.record s WHERE s.kind = 'standing' AND s.deleted_at IS NULL
    """

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Row {
    Row(app: try row.decode(0), offerPartsPerMillion: try row.decode(1), isAppThere: try row.decode(2))
  }
}

/// What became of the tapped ads of apps with stopped actions, by day.
struct ReadActionDays: PostgresStatement {
  struct Row: Sendable {
    let app: AppID
    /// Days since 1970.
    let day: Int64
    let stopped: Int64
    let tapped: Int64
  }

  static let isPrepared = false
  static let sql = """
    SELECT app, (day - date '1970-01-01')::bigint, stopped, tapped
    FROM catalog.action_days(date '1970-01-01' + $1::bigint::int)
    """
  let firstDay: Int64

  var parameters: [any PostgresValue] { [firstDay] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> Row {
    Row(app: try row.decode(0), day: try row.decode(1), stopped: try row.decode(2), tapped: try row.decode(3))
  }
}
