import LocalProcesses
import Migrations
import Postgres
import TestServers
import TestServices
import Testing

/// What a shown ad writes, all the way from its request to its charge, on a server that does nothing else: the same bytes
/// on every machine, but for what chance has in ids: some percent of the pages of indexes.
@Suite("Bytes of a shown ad")
struct BytesOfAShownAdTests {
  /// What PostgreSQL may write for a shown and charged ad with its three events: measured, and about a twentieth more.
  private static let logBytesMaximum = 710.0
  private static let diskBytesMaximum = 605.0
  private static let ads = 6_000

  /// What PostgreSQL has written so far.
  private struct Written {
    let log: Int64
    let disk: Int64
    /// Bytes by table and index, those of all days together.
    let relations: [String: Int64]

    init(_ connection: PostgresConnection) throws {
      let row = try connection.query(
        "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint, pg_database_size(current_database())")[0]
      log = try row.decode(0)
      disk = try row.decode(1)
      let sizes = try connection.query(
        """
        SELECT regexp_replace(oid::regclass::text, '_[0-9]{8}', ''), sum(pg_relation_size(oid))::bigint
        FROM pg_class WHERE relkind IN ('r', 'i', 't', 'm') GROUP BY 1
        """)
      var relations: [String: Int64] = [:]
      for row in sizes { relations[try row.decode(0)] = try row.decode(1) }
      self.relations = relations
    }

    /// Where the disk's bytes of a shown ad are, the most first.
    func grown(since before: Written, by ads: Int) -> String {
      relations.map { ($0.key, ($0.value - (before.relations[$0.key] ?? 0)) / Int64(ads)) }.filter { $0.1 > 0 }
        .sorted { $0.1 > $1.1 }.map { "\($0.1) \($0.0)" }.joined(separator: ", ")
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
    let connection = try PostgresConnection(database)
    try DatabaseUser.makeLogins(connection)
    let chain = try ChainOfPartitions(database)
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
    let places = after.grown(since: before, by: shown)
    print("\(Int(log)) bytes of write-ahead log and \(Int(disk)) of disk for a shown ad: \(places)")
    #expect(log <= Self.logBytesMaximum, "\(log) bytes of write-ahead log")
    #expect(disk <= Self.diskBytesMaximum, "\(disk) bytes of disk")
    connection.close()
    try await server.stop()
  }
}
