import Postgres
import Synchronization

/// Days of long ago whose tables nobody can use: whoever looks into them, or has the planner look at the tables of all days,
/// waits. With 400 days kept, a statement that does would be planned for as many tables each time, and lock them all. They are
/// so many that the planner does not think one plan for all days the cheaper one, as it may with few.
final class UnusableDays: Sendable {
  private static let days = "generate_series(date '2020-01-01', date '2020-02-29', interval '1 day')"
  /// Tables that are cut by the ids of served ads, with each of the days.
  private static let tables = """
    FROM (
      SELECT partrelid::regclass AS parent, day::date, format('%s_%s', partrelid::regclass, to_char(day, 'YYYYMMDD')) AS name
      FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0], \(days) AS day
      WHERE atttypid = 'uuid'::regtype
    ) AS tables
    """
  /// Made apart and attached, as the services do it: no batch waits for it.
  private static let making = """
    SELECT format('CREATE TABLE %1$s (LIKE %2$s INCLUDING CONSTRAINTS INCLUDING DEFAULTS);
      ALTER TABLE %2$s ATTACH PARTITION %1$s FOR VALUES FROM (%3$L) TO (%4$L)', name, parent,
      public.first_uuid_of_day(day), public.first_uuid_of_day(day + 1)) \(tables)
    """
  private static let locking = "SELECT format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', name) \(tables)"

  private let connection: Mutex<PostgresConnection>

  init(_ network: TestNetwork) throws {
    var configuration = try PostgresConfiguration(network.databaseURL)
    configuration.idleInTransactionTimeoutMilliseconds = 0
    let connection = try PostgresConnection(configuration)
    for row in try connection.query(Self.making) { try connection.executeScript(row.decode(0)) }
    try connection.begin()
    for row in try connection.query(Self.locking) { try connection.executeScript(row.decode(0)) }
    self.connection = Mutex(connection)
  }

  /// Ends everybody else's connections: whoever tracks or charges then takes its partitions over once more, and counts what was
  /// not counted from the rows.
  func endOtherConnections() throws {
    _ = try connection.withLock {
      try $0.query(
        """
        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
        """)
    }
  }

  /// Their tables are as others from then on.
  ///
  /// - Throws: `PostgresError` when they could be used before.
  func end() throws {
    try connection.withLock { connection in
      try connection.commit()
      connection.close()
    }
  }
}
