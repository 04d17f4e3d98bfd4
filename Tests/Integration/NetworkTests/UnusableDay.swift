import Postgres
import Synchronization

/// A day of long ago whose tables nobody can use: whoever looks into them, or has the planner look at the tables of all days,
/// waits. With 400 days kept, a statement that does would be planned for as many tables each time, and lock them all.
final class UnusableDay: Sendable {
  /// Tables that are cut by the ids of served ads.
  private static let parents = """
    FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
    WHERE atttypid = 'uuid'::regtype
    """
  /// Made apart and attached, as the services do it: no batch waits for it.
  private static let making = """
    SELECT format('CREATE TABLE %1$s_20200101 (LIKE %1$s INCLUDING CONSTRAINTS INCLUDING DEFAULTS);
      ALTER TABLE %1$s ATTACH PARTITION %1$s_20200101 FOR VALUES FROM (%2$L) TO (%3$L)', partrelid::regclass,
      public.first_uuid_of_day('2020-01-01'), public.first_uuid_of_day('2020-01-02')) \(parents)
    """
  private static let locking = """
    SELECT format('LOCK TABLE %s_20200101 IN ACCESS EXCLUSIVE MODE', partrelid::regclass) \(parents)
    """

  private let connection: Mutex<PostgresConnection>

  init(_ network: TestNetwork) throws {
    let connection = try network.connection()
    for row in try connection.query(Self.making) { try connection.executeScript(row.decode(0)) }
    try connection.begin()
    for row in try connection.query(Self.locking) { try connection.executeScript(row.decode(0)) }
    self.connection = Mutex(connection)
  }

  /// Its tables are as others from then on.
  func end() { connection.withLock { $0.close() } }
}
