internal import Postgres

/// Bundle ids that were ever set to under 17 (A4).
struct ReadUnder17Bundles: PostgresStatement {
  static let sql = "SELECT bundle_id FROM catalog.under_17_bundle"
  static func decode(_ row: PostgresRow) throws(PostgresError) -> String { try row.decode(0) }
}

/// Remembers bundle ids that are set to under 17, for ever.
struct KeepUnder17Bundles: PostgresStatement {
  static let sql = """
    INSERT INTO catalog.under_17_bundle (bundle_id, first_app)
    SELECT * FROM unnest($1::text[], $2::text[]) ON CONFLICT (bundle_id) DO NOTHING
    """
  let bundles: [(bundle: String, app: String)]
  var parameters: [any PostgresValue] { [bundles.map(\.bundle), bundles.map(\.app)] }
}
