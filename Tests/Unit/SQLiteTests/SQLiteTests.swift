import Foundation
import Testing

@testable import SQLite

@Suite("SQLite")
struct SQLiteTests {
  @Test("Values come back as they were given")
  func values() throws {
    let database = try SQLiteDatabase(path: nil)
    try database.run("CREATE TABLE t (a, b, c, d)")
    let given: [SQLiteValue] = [.integer(.min), .text("ä\u{1F600}"), .blob([0, 255, 0]), .null]
    try database.run("INSERT INTO t VALUES (?1, ?2, ?3, ?4)", given)
    #expect(database.lastRow == 1)
    try database.run("INSERT INTO t VALUES (?1, ?2, ?3, ?4)", .integer(0), .text(""), .blob([]), .null)
    #expect(try database.run("SELECT * FROM t ORDER BY rowid") == [given, [.integer(0), .text(""), .blob([]), .null]])
  }

  @Test("A mistake is an error with SQLite's words, and the connection goes on")
  func mistakes() throws {
    let database = try SQLiteDatabase(path: nil)
    try database.run("CREATE TABLE t (a INTEGER PRIMARY KEY)")
    try database.run("INSERT INTO t VALUES (1)")
    #expect(throws: SQLiteError.self) { try database.run("INSERT INTO t VALUES (1)") }
    #expect(throws: SQLiteError.self) { try database.run("SELEKT") }
    #expect(try database.run("SELECT count(*) FROM t") == [[.integer(1)]])
  }

  @Test("What was written survives the connection, and nobody else opens the file meanwhile")
  func survives() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("sqlite-\(UUID()).db").path
    defer { for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
    do {
      let first = try SQLiteDatabase(path: path)
      try first.run("CREATE TABLE t (a)")
      try first.run("INSERT INTO t VALUES (7)")
      #expect(throws: SQLiteError.self) {
        let second = try SQLiteDatabase(path: path)
        try second.run("INSERT INTO t VALUES (8)")
      }
    }
    let again = try SQLiteDatabase(path: path)
    #expect(try again.run("SELECT a FROM t") == [[.integer(7)]])
  }
}
