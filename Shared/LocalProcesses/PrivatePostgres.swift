internal import Foundation
internal import Glibc
internal import Threads

/// A PostgreSQL server of our own in a folder of its own, which ends with this process.
///
/// It listens on a unix socket that only its user and root can open, and on a loopback port (with a password) if one is
/// given. Everything is as safe as a server can be (`fsync` on), so it serves for crash tests and measurements. The
/// folder is made at the first start and used again at later ones, also after a kill -9.
package final class PrivatePostgres: Sendable {
  /// What the server is made of.
  package struct Configuration: Sendable {
    /// The folder for data, log and password; made if it is not there.
    package var folder: String
    /// A port on 127.0.0.1 besides the unix socket; nil for none.
    package var port: Int?
    /// Settings of postgresql.conf that go before ours.
    package var settings: [String: String]
    /// How long a start may take, recovery after a crash included.
    package var startTimeoutMilliseconds: Int

    package init(
      folder: String, port: Int? = nil, settings: [String: String] = [:], startTimeoutMilliseconds: Int = 60_000
    ) {
      self.folder = folder
      self.port = port
      self.settings = settings
      self.startTimeoutMilliseconds = startTimeoutMilliseconds
    }
  }

  /// Name of the superuser that all URLs use.
  package static let administrator = "handbill"

  package let configuration: Configuration
  private let installation: PostgresInstallation
  /// In place of `folder` for the unix socket, whose path may have at most 107 bytes.
  private let shortFolder: TemporaryFolder?
  private let socketFolder: String
  private let server = Monitor<ChildProcess?>(nil)

  /// Prepares the folder and, if it has no data yet, makes them; the server is not started.
  ///
  /// Blocks for about a second when data must be made.
  /// - Throws: `SupervisionError` when PostgreSQL is missing or the folder cannot be used.
  package init(_ configuration: Configuration) throws {
    var configuration = configuration
    configuration.folder = URL(fileURLWithPath: configuration.folder).standardizedFileURL.path
    self.configuration = configuration
    installation = try PostgresInstallation.find()
    let data = PostgresDataFolder(folder: configuration.folder, installation: installation)
    try data.prepare()
    shortFolder = data.socketPath.utf8.count <= 85 ? nil : try TemporaryFolder(prefix: "pg")
    socketFolder = shortFolder?.path("socket") ?? data.socketPath
  }

  deinit { stopAndWait() }

  /// Whether the server runs.
  package var isRunning: Bool { server.withLock { $0?.isRunning ?? false } }

  /// The URL of a database by the unix socket; it stays the same over restarts.
  package func url(database: String = "postgres", user: String = administrator) -> String {
    "postgresql:///\(database)?host=\(socketFolder)&port=\(socketPort)&user=\(user)"
  }

  /// The unix socket itself, for a proxy; it stays the same over restarts.
  package var socketPath: String { "\(socketFolder)/.s.PGSQL.\(socketPort)" }
}

// Starting and ending, and what psql does; they block.
extension PrivatePostgres {
  /// Starts the server and returns when it answers; nothing happens if it runs.
  ///
  /// - Throws: `SupervisionError.failed` with the server's last words.
  package func startAndWait() throws {
    try server.withLock { server in
      if let running = server, running.isRunning { return }
      let data = PostgresDataFolder(folder: configuration.folder, installation: installation)
      try data.clearForStart()
      try data.makeSocketFolder(socketFolder)
      let child = try ChildProcess(command)
      do {
        try child.waitForLine(timeoutMilliseconds: configuration.startTimeoutMilliseconds) {
          // A standby says that its connections are read-only.
          $0.contains("database system is ready to accept")
        }
      } catch {
        child.terminate(signal: SIGQUIT)
        throw error
      }
      server = child
    }
  }

  /// Ends the server in order: running statements are cancelled, everything is written.
  package func stopAndWait() {
    server.withLock { server in
      _ = server?.terminate(graceMilliseconds: 20_000, signal: SIGINT)
      server = nil
    }
  }

  /// Ends every process of the server with SIGKILL, like a power cut, and returns when they are gone.
  package func killAndWait() {
    server.withLock { server in
      guard let child = server else { return }
      // Each process of PostgreSQL leads a group of its own, so they are collected while their parent still lives.
      let family = ProcessTable.descendants(of: child.processIdentifier)
      child.kill(SIGKILL)
      child.waitForExit()
      for process in family where ProcessTable.isRunning(process) {
        _ = Glibc.kill(process.processIdentifier, SIGKILL)
        _ = ProcessTable.waitForEnd(of: process, timeoutMilliseconds: 5_000)
      }
      server = nil
    }
  }

  /// Makes a database and returns its URL.
  ///
  /// - Parameter template: a database to copy, to which nobody is connected.
  package func createDatabaseAndWait(_ name: String, template: String? = nil) throws -> String {
    // A copy of files costs a third of one by way of the write-ahead log.
    let source = template.map { " TEMPLATE \(Self.quoted($0)) STRATEGY file_copy" } ?? ""
    try executeAndWait("CREATE DATABASE \(Self.quoted(name))\(source)")
    return url(database: name)
  }

  /// Runs SQL with psql, and returns the rows as lines with fields parted by `|`.
  @discardableResult
  package func executeAndWait(_ sql: String, database: String = "postgres") throws -> [String] {
    let arguments = ["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", url(database: database), "-c", sql]
    return try ChildProcess.run(ChildProcess.Command(installation.program("psql"), arguments))
  }

  private static func quoted(_ name: String) -> String {
    "\"\(name.replacingOccurrences(of: "\"", with: "\"\""))\""
  }

  /// The number in the unix socket's file name.
  private var socketPort: Int { configuration.port ?? 5432 }

  private var command: ChildProcess.Command {
    let data = PostgresDataFolder(folder: configuration.folder, installation: installation)
    var settings = Self.settings
    settings["listen_addresses"] = configuration.port == nil ? "" : "127.0.0.1"
    settings["port"] = String(socketPort)
    settings["unix_socket_directories"] = socketFolder
    settings.merge(configuration.settings) { $1 }
    let arguments = settings.sorted { $0.key < $1.key }.flatMap { ["-c", "\($0.key)=\($0.value)"] }
    return ChildProcess.Command(
      installation.program("postgres"), ["-D", data.dataPath] + arguments,
      environment: ["LC_ALL": "C", "PGDATA": nil], workingDirectory: "/", output: .lines(alsoTo: data.logPath),
      errorOutput: .lines(alsoTo: data.logPath), user: installation.user,
      // An immediate shutdown: the children end too, and shared memory is given back.
      signalWhenParentDies: SIGQUIT)
  }

  private static let settings: [String: String] = [
    "autovacuum": "on",
    "checkpoint_timeout": "15min",
    "fsync": "on",
    "full_page_writes": "on",
    "jit": "off",
    "lc_messages": "C",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] %q%u@%d ",
    "log_timezone": "UTC",
    "max_connections": "100",
    "max_locks_per_transaction": "256",
    "max_wal_size": "4GB",
    "shared_buffers": "256MB",
    "synchronous_commit": "on",
    "timezone": "UTC",
    "unix_socket_permissions": "0700",
    "wal_buffers": "16MB",
    // Pages that are logged whole behind a checkpoint; every server knows this one.
    "wal_compression": "on",
    "wal_level": "replica",
  ]
}
