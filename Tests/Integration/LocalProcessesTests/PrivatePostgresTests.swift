import Foundation
import Glibc
import LocalProcesses
import TestServers
import Testing

@Suite struct PrivatePostgresTests {
  @Test("A server starts, answers, keeps its data over stop, kill -9 and restart, and leaves no process")
  func life() async throws {
    let folder = try TemporaryFolder()
    let port = try FreePort.find()
    let server = try await PrivatePostgres.started(.init(folder: folder.path, port: port))
    let url = try await server.createDatabase("first")
    #expect(url == server.url(database: "first"))
    try await server.execute("CREATE TABLE t (a int); INSERT INTO t VALUES (1)", database: "first")
    try await server.restart()
    try await server.execute("INSERT INTO t VALUES (2)", database: "first")
    let first = try #require(server.processIdentifier)
    let family = ProcessTable.descendants(of: first)
    #expect(family.count >= 4)
    try await server.kill()
    #expect(!server.isRunning)
    #expect(family.filter(ProcessTable.isRunning).isEmpty)
    try await server.start()
    #expect(try await server.execute("SELECT a FROM t ORDER BY a", database: "first") == ["1", "2"])
    try await server.stop()
    #expect(!server.isRunning)

    let again = try await PrivatePostgres.started(.init(folder: folder.path, settings: ["work_mem": "9MB"]))
    #expect(try await again.execute("SELECT count(*) FROM t", database: "first") == ["2"])
    #expect(try await again.execute("SHOW work_mem") == ["9MB"])
    #expect(try await again.execute("SHOW fsync") == ["on"])
    try await again.stop()
  }

  @discardableResult
  private static func run(_ sql: String, _ url: String) throws -> [String] {
    try ChildProcess.run(.init("psql", ["-X", "-q", "-A", "-t", "-d", url, "-c", sql]))
  }

  @Test("The shared server gives each caller a database of its own, also as a copy of a prepared one")
  func sharedDatabases() async throws {
    let table = DatabaseTemplate("a table") { try Self.run("CREATE TABLE prepared (five int)", $0) }
    let filled = DatabaseTemplate("a row", copyOf: table) { try Self.run("INSERT INTO prepared VALUES (5)", $0) }
    let server = try await SharedPostgres.shared()
    let one = try await SharedPostgres.database()
    let two = try await SharedPostgres.database()
    #expect(one != two)
    let prepared = try await SharedPostgres.database(copyOf: filled)
    #expect(prepared.contains("host="))
    #expect(server.isRunning)
    let rows = try Self.run("SELECT five FROM prepared", prepared)
    #expect(rows == ["5"])
  }
}
