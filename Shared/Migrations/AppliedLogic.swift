internal import Postgres

/// The checksum of the functions and views that the database was given last; no row before the first time.
struct AppliedLogic: PostgresStatement {
  static let sql = "SELECT checksum FROM public.schema_logic"

  static func decode(_ row: PostgresRow) throws(PostgresError) -> [UInt8] { try row.decode(0) }
}

/// Remembers which functions and views the database has, in the transaction that makes them.
struct RecordLogic: PostgresStatement {
  static let sql = """
    INSERT INTO public.schema_logic (checksum, made_at) VALUES ($1, now())
    ON CONFLICT (is_only) DO UPDATE SET checksum = excluded.checksum, made_at = excluded.made_at
    """
  let checksum: [UInt8]

  var parameters: [any PostgresValue] { [checksum] }
}
