import Foundation
import Glibc
import LocalProcesses
import Synchronization
import Threads

/// One PostgreSQL server for everything in this process, started at the first use and stopped when the process ends.
///
/// Tests take a database of their own from it, which costs some ten milliseconds, in place of a server of their own.
/// The oldest go when there are more than `mostDatabases`, so that what a long run needs of disk or memory is bounded.
package enum SharedPostgres {
  /// More than any one test takes; a migrated one has 17 MB.
  private static let mostDatabases = 100

  private static let server = Result {
    let folder = try TemporaryFolder(prefix: "hb")
    // Nothing of it is to outlive a power cut, so no commit waits for the disk.
    let server = try PrivatePostgres(
      PrivatePostgres.Configuration(folder: folder.path, settings: ["fsync": "off", "full_page_writes": "off"]))
    try server.startAndWait()
    atExit {
      server.stopAndWait()
      folder.remove()
    }
    return server
  }

  private static let nextNumber = Atomic<Int>(1)
  private static let templates = Monitor<[String: String]>([:])
  /// The names of the databases that were given, the oldest first.
  private static let given = Monitor<[String]>([])

  /// The server itself.
  ///
  /// - Throws: `SupervisionError` when there is no PostgreSQL on this machine or it does not start.
  package static func shared() async throws -> PrivatePostgres {
    try await onOwnThread { try server.get() }
  }

  /// The URL of a new, empty database.
  package static func database() async throws -> String {
    try await onOwnThread { try give(from: server.get()) }
  }

  /// The URL of a new database that is a copy of a template, which is made at its first use in this process.
  package static func database(copyOf template: DatabaseTemplate) async throws -> String {
    try await onOwnThread {
      let server = try server.get()
      return try give(from: server, template: templates.withLock { try source(of: template, in: &$0, on: server) })
    }
  }

  /// The database that a template is, made if it is not there yet, after the one that it is a copy of.
  private static func source(
    of template: DatabaseTemplate, in known: inout [String: String], on server: PrivatePostgres
  ) throws -> String {
    if let name = known[template.name] { return name }
    let base = try template.base.map { try source(of: $0, in: &known, on: server) }
    let name = "template_\(known.count + 1)"
    try template.prepare(try server.createDatabaseAndWait(name, template: base))
    known[template.name] = name
    return name
  }

  private static func give(from server: PrivatePostgres, template: String? = nil) throws -> String {
    let name = "test_\(nextNumber.wrappingAdd(1, ordering: .relaxed).oldValue)"
    let url = try server.createDatabaseAndWait(name, template: template)
    let oldest = given.withLock { given in
      given.append(name)
      return given.count > mostDatabases ? given.removeFirst() : nil
    }
    // One to which somebody is still connected stays: its turn comes again.
    if let oldest, (try? server.executeAndWait("DROP DATABASE \(oldest)")) == nil {
      given.withLock { $0.append(oldest) }
    }
    return url
  }
}
