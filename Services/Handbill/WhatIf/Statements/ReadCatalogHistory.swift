internal import AdCore
internal import AdSelectionCore
internal import JSON
internal import Operations
internal import Postgres
internal import Runtime

/// A version of a record, as the catalogue's history keeps it.
struct HistoryRow: Sendable {
  let key: String
  let change: Int64
  /// Nil where nothing is there: the key came later.
  let version: Int64?
  /// Nil where it was deleted.
  let body: JSONValue?

  fileprivate init(_ row: PostgresRow) throws(PostgresError) {
    key = try row.decode(0)
    change = try row.decode(1, Int64?.self) ?? 0
    version = try row.decode(2)
    let isDeleted = try row.decode(4, Bool?.self) ?? true
    guard !isDeleted, let text: PostgresJSON = try row.decode(3, PostgresJSON?.self) else {
      body = nil
      return
    }
    do throws(JSONError) { body = try JSONValue.parse(text.text.utf8).inOrderOfNames } catch {
      throw .undecodable(column: 3, error.description)
    }
  }
}

/// What some keys held after a change: one row for each key, in their order.
struct ReadCatalogAfter: PostgresStatement {
  static let sql = """
    SELECT record.key, history.change_number, history.version, history.body, history.is_deleted
    FROM (SELECT key FROM catalog.record WHERE key > $2 ORDER BY key LIMIT $3) AS record
    LEFT JOIN LATERAL (
      SELECT change_number, version, body, is_deleted FROM catalog.history
      WHERE history.key = record.key AND change_number <= $1 ORDER BY version DESC LIMIT 1
    ) AS history ON true
    ORDER BY record.key
    """
  let change: Int64
  let afterKey: String
  let limit: Int64

  var parameters: [any PostgresValue] { [change, afterKey, limit] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> HistoryRow { try HistoryRow(row) }
}

/// The changes after one up to another, in their order.
struct ReadCatalogChanges: PostgresStatement {
  static let sql = """
    SELECT key, change_number, version, body, is_deleted FROM catalog.history
    WHERE change_number > $1 AND change_number <= $2 ORDER BY change_number LIMIT $3
    """
  let after: Int64
  let upTo: Int64
  let limit: Int64

  var parameters: [any PostgresValue] { [after, upTo, limit] }

  static func decode(_ row: PostgresRow) throws(PostgresError) -> HistoryRow { try HistoryRow(row) }
}

/// All rules that auctions have ever followed: few, since they are configuration.
struct ReadAuctionRules: PostgresStatement {
  static let sql = "SELECT rules, seed, prior_clicks, prior_impressions FROM ad_selection.auction_rules"

  static func decode(_ row: PostgresRow) throws(PostgresError) -> (number: Int64, rules: AuctionRules) {
    (
      try row.decode(0),
      AuctionRules(
        seed: UInt64(bitPattern: try row.decode(1, Int64.self)), priorClicks: try row.decode(2),
        priorImpressions: try row.decode(3))
    )
  }
}
