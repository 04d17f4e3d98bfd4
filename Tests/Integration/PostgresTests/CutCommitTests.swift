import LocalProcesses
import Postgres
import TestServers
import Testing

@Suite struct CutCommitTests {
  /// A row that is written and committed through a proxy, and whether the server has it afterwards.
  private func commit(_ cut: PostgresProxy.Cut, together: Bool) async throws -> (error: PostgresError?, rows: Int64) {
    let direct = try PostgresConnection(try PostgresConfiguration(try await SharedPostgres.database()))
    try direct.executeScript("CREATE TABLE fact (n int)")
    let database: String = try #require(try direct.query("SELECT current_database()").first).decode(0)
    let proxy = try PostgresProxy(to: try await SharedPostgres.shared().socketPath)
    defer { proxy.close() }
    let connection = try PostgresConnection(
      try PostgresConfiguration(proxy.url(database: database), applicationName: "cut"))
    try connection.begin()
    _ = try connection.execute(sql: "INSERT INTO fact VALUES (1)")
    proxy.cutCommit(cut, application: "cut")
    proxy.cutCommit(cut, application: "somebody else")
    let error = #expect(throws: PostgresError.self) {
      if together {
        try connection.batch {
          $0.send(sql: "INSERT INTO fact VALUES (2)")
          $0.commit()
        }
      } else {
        try connection.commit()
      }
    }
    #expect(proxy.cuts == 1)
    #expect(!connection.isUsable)
    try connection.reconnect()
    return (error, try #require(try connection.query("SELECT count(*) FROM fact").first).decode(0))
  }

  @Test(
    "a connection cut before the server sees COMMIT leaves its fate unknown, and nothing was committed",
    arguments: [false, true])
  func before(together: Bool) async throws {
    let result = try await commit(.beforeServerSees, together: together)
    #expect(result.error?.kind == .connectionLost(commitUnknown: true))
    #expect(result.rows == 0)
  }

  @Test(
    "a connection cut before COMMIT's answer comes back leaves its fate unknown, and everything was committed",
    arguments: [false, true])
  func after(together: Bool) async throws {
    let result = try await commit(.afterServerCommitted, together: together)
    #expect(result.error?.kind == .connectionLost(commitUnknown: true))
    #expect(result.rows == (together ? 2 : 1))
  }

  @Test("the proxy lets so many COMMITs through before it cuts one")
  func skipping() async throws {
    let server = try await SharedPostgres.shared()
    let proxy = try PostgresProxy(to: server.socketPath)
    defer { proxy.close() }
    proxy.cutCommit(.beforeServerSees, skipping: 2)
    let connection = try PostgresConnection(try PostgresConfiguration(proxy.url(database: "postgres")))
    for _ in 0..<2 {
      try connection.begin()
      try connection.commit()
    }
    #expect(proxy.cuts == 0)
    try connection.begin()
    #expect(throws: PostgresError.self) { try connection.commit() }
    #expect(proxy.cuts == 1)
  }
}
