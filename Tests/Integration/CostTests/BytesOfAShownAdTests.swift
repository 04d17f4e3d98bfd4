import LocalProcesses
import Postgres
import TestServices
import Testing

/// What a shown ad writes, all the way from its request to its charge, on a server that does nothing else: the same bytes
/// on every machine, but for what chance has in ids: some percent of the pages of indexes.
@Suite("Bytes of a shown ad")
struct BytesOfAShownAdTests {
  /// What PostgreSQL may write for a shown and charged ad with its three events: measured, and a twentieth more.
  private static let logBytesMaximum = 2_080.0
  private static let diskBytesMaximum = 1_660.0
  private static let ads = 6_000

  /// What PostgreSQL has written so far.
  private struct Written {
    let log: Int64
    let disk: Int64

    init(_ connection: PostgresConnection) throws {
      let row = try connection.query(
        "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, pg_database_size(current_database())")[0]
      log = try row.decode(0)
      disk = try row.decode(1)
    }
  }

  @Test("A shown and charged ad costs no more bytes of write-ahead log and of disk than it did")
  func bytes() async throws {
    let folder = try TemporaryFolder(prefix: "hb")
    // Nothing but the chain writes, and no page whole because of a checkpoint.
    let server = try await PrivatePostgres.started(
      PrivatePostgres.Configuration(
        folder: folder.path, settings: ["fsync": "off", "full_page_writes": "off", "autovacuum": "off"]))
    let database = try PostgresConfiguration(server.url(), applicationName: "test")
    try TestDatabase.migrate(server.url())
    let chain = try ChainOfPartitions(database)
    let connection = try PostgresConnection(database)
    _ = try chain.show(Self.ads / 2)
    let before = try Written(connection)
    let shown = try chain.show(Self.ads)
    let after = try Written(connection)
    let charged: Int64 = try connection.query(
      "SELECT count(*) FROM billing.charge WHERE fate = vocabulary.charge_fate('charged')")[0].decode(0)
    #expect(shown == Self.ads)
    #expect(charged == Int64(Self.ads + Self.ads / 2 + chain.taps))
    let log = Double(after.log - before.log) / Double(shown)
    let disk = Double(after.disk - before.disk) / Double(shown)
    #expect(log <= Self.logBytesMaximum, "\(log) bytes of write-ahead log")
    #expect(disk <= Self.diskBytesMaximum, "\(disk) bytes of disk")
    connection.close()
    try await server.stop()
  }
}
