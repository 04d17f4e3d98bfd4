internal import Postgres

/// Lets one change of the catalogue at a time through, so that what records must agree on is checked against what is
/// there, and change numbers rise in the order of the commits. Readers do not wait.
struct LockCatalog: PostgresStatement {
  static let sql = "SELECT pg_advisory_xact_lock(hashtext('catalog.record'))"
}
