internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Migrations
internal import Operations
internal import Postgres
internal import Runtime
internal import Threads

/// `handbill migrate`: brings the database's schema up to date.
enum MigrateCommand {
  private static let triesMaximum = 30
  /// How long services go on between two tries: as long as a try may make them wait for one table.
  private static let pauseMilliseconds = 2_000

  static let command = Command(
    "migrate", summary: "Brings the database's schema up to date.", options: DatabaseAddress.maintenanceOptions,
    examples: [CommandExample("handbill migrate up", "Applies what is missing.")],
    subcommands: [
      Command(
        "up", summary: "Applies the migrations that the database lacks, and makes its functions and views again.",
        discussion: """
          All of it is one transaction, with functions and views, which are made again each time: the database is as before,
          or as this release needs it. Where somebody uses a table for long, all is rolled back, so that nobody waits, and
          tried again, \(triesMaximum) times in all; standard error says so. Several may run at once: one works, the others
          wait.
          """,
        examples: [CommandExample("handbill migrate up --json", "The versions applied, as JSON.")], run: up),
      Command(
        "status", summary: "Shows each migration and when it was applied; exit 1 while one is missing.",
        examples: [CommandExample("handbill migrate status", "What the database has.")], run: status),
    ], run: up)

  private struct StatusRow {
    let version: Int32
    let name: String
    let appliedAt: String?

    var json: JSONValue {
      let time = appliedAt.map { [JSONValue.Member("appliedAt", .text($0))] } ?? []
      return .object(time + [.init("name", .text(name)), .init("version", .integer(version))])
    }
  }

  @Sendable private static func up(_ invocation: Invocation) async throws -> ExitCode {
    let result = try await onOwnThread {
      let connection = try DatabaseAddress.connectForMaintenance(invocation)
      defer { connection.close() }
      let runner = try MigrationRunner()
      let applied = try runner.up(connection, tries: triesMaximum) { number, busy in
        Terminal.note("\(busy). Try \(number) of \(triesMaximum) begins in \(pauseMilliseconds / 1_000) s.")
        StopRequest().wait(milliseconds: pauseMilliseconds)
      }
      return (applied: applied, version: runner.requiredVersion)
    }
    if invocation.wantsJSON {
      let applied = JSONValue.list(result.applied.map { .integer($0) })
      Terminal.print((["applied": applied, "version": .integer(result.version)] as JSONValue).prettyText)
    } else if result.applied.isEmpty {
      Terminal.print(
        "The schema is at version \(result.version); nothing is missing. Functions and views were made again.")
    } else {
      Terminal.print("Applied \(result.applied.map(String.init).joined(separator: ", ")).")
    }
    return .success
  }

  @Sendable private static func status(_ invocation: Invocation) async throws -> ExitCode {
    let rows = try await onOwnThread {
      let connection = try DatabaseAddress.connectForMaintenance(invocation)
      defer { connection.close() }
      return try MigrationRunner().status(connection).map { row in
        StatusRow(version: row.version, name: row.name, appliedAt: row.appliedAt.map { Timestamp($0).rfc3339Text })
      }
    }
    if invocation.wantsJSON {
      Terminal.print(JSONValue.list(rows.map(\.json)).prettyText)
    } else {
      Terminal.print(TextTable.text(rows.map { ["\($0.version)", $0.name, $0.appliedAt ?? "missing"] }))
    }
    return rows.allSatisfy { $0.appliedAt != nil } ? .success : .failure
  }
}
