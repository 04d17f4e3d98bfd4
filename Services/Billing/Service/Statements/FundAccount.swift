internal import AdCore
internal import Postgres

/// What an account may be charged in all; a version that is known changes nothing.
struct FundAccount: PostgresStatement {
  static let sql = "SELECT treasury.fund_account($1, $2, $3, $4)"
  let advertiser: Advertiser
  let version: Int64

  var parameters: [any PostgresValue] {
    [advertiser.id, advertiser.currency, advertiser.accountFunding, version]
  }

  /// Whether the version was new.
  static func decode(_ row: PostgresRow) throws(PostgresError) -> Bool { try row.decode(0) }
}
