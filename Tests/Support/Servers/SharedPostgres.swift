import Foundation
import Glibc
import LocalProcesses
import Synchronization
import Threads

/// One PostgreSQL server for everything in this process, started at the first use and stopped when the process ends.
///
/// Tests take a database of their own from it, which costs some ten milliseconds, in place of a server of their own.
package enum SharedPostgres {
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

  /// The server itself.
  ///
  /// - Throws: `SupervisionError` when there is no PostgreSQL on this machine or it does not start.
  package static func shared() async throws -> PrivatePostgres {
    try await onOwnThread { try server.get() }
  }

  /// The URL of a new, empty database.
  package static func database() async throws -> String {
    try await onOwnThread { try server.get().createDatabaseAndWait(freshName()) }
  }

  /// The URL of a new database that is a copy of a template, which `prepare` fills at the first use of its name.
  ///
  /// - Parameters:
  ///   - template: names the template within this process, for example `migrated`.
  ///   - prepare: gets the URL of the template; it must close its connections before it returns. It runs on a thread of
  ///     its own and may block.
  package static func database(
    copyOf template: String, prepare: @escaping @Sendable (String) throws -> Void
  ) async throws -> String {
    try await onOwnThread {
      let server = try server.get()
      let source = try templates.withLock { templates in
        if let known = templates[template] { return known }
        let name = "template_\(templates.count + 1)"
        try prepare(try server.createDatabaseAndWait(name))
        templates[template] = name
        return name
      }
      return try server.createDatabaseAndWait(freshName(), template: source)
    }
  }

  private static func freshName() -> String {
    "test_\(nextNumber.wrappingAdd(1, ordering: .relaxed).oldValue)"
  }
}
