internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Migrations
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill migrate`: brings the database's schema up to date.
enum MigrateCommand {
  static let command = Command(
    "migrate", summary: "Brings the database's schema up to date.", options: DatabaseAddress.maintenanceOptions,
    examples: [CommandExample("handbill migrate up", "Applies what is missing.")],
    subcommands: [
      Command(
        "up", summary: "Applies the migrations that the database lacks, and makes its functions and views again.",
        discussion: """
          Each is a transaction of its own. Functions and views are made again each time. Several may run at once: one
          works, the others wait.
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
      return (applied: try runner.up(connection), version: runner.requiredVersion)
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
