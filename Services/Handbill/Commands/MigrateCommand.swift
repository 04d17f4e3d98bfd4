internal import AdCore
internal import LocalProcesses
internal import Migrations
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill migrate`: brings the database's schema up to date.
enum MigrateCommand {
  static let command = Command(
    "migrate", summary: "Brings the database's schema up to date.", options: DatabaseAddress.options,
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

  private struct Applied: Encodable {
    let applied: [Int32]
    let version: Int32
  }

  private struct StatusRow: Encodable {
    let version: Int32
    let name: String
    let appliedAt: String?
  }

  @Sendable private static func up(_ invocation: Invocation) async throws -> ExitCode {
    let result = try await onOwnThread {
      let connection = try DatabaseAddress.connect(invocation)
      defer { connection.close() }
      let runner = try MigrationRunner()
      return Applied(applied: try runner.up(connection), version: runner.requiredVersion)
    }
    if invocation.wantsJSON {
      try JSONOutput.print(result)
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
      let connection = try DatabaseAddress.connect(invocation)
      defer { connection.close() }
      return try MigrationRunner().status(connection).map { row in
        StatusRow(version: row.version, name: row.name, appliedAt: row.appliedAt.map { Timestamp($0).rfc3339Text })
      }
    }
    if invocation.wantsJSON {
      try JSONOutput.print(rows)
    } else {
      Terminal.print(TextTable.text(rows.map { ["\($0.version)", $0.name, $0.appliedAt ?? "missing"] }))
    }
    return rows.allSatisfy { $0.appliedAt != nil } ? .success : .failure
  }
}
