internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill suspense`: what only a person can decide about accepted events that billing could not charge.
enum SuspenseCommand {
  static let command = Command(
    "suspense", summary: "Settles accepted events that could not be charged.",
    discussion: """
      Where the database refuses an accepted event as a charge, billing puts it into suspense with the reason, and goes
      on. Its day is not sealed until a person has settled it: mend what the reason names and try it again, or void it.
      """,
    subcommands: [
      Command(
        "list", summary: "Shows what is in suspense, and why.",
        options: DatabaseAddress.options + [.flag("voided", help: "Also what was voided.")],
        examples: [CommandExample("handbill suspense list", "Everything that waits for a person.")], run: list),
      Command(
        "retry", summary: "Has it charged after all.",
        discussion: """
          It is charged by the terms of its serve, from free budget, as if it had come in time; its partition is opened
          again. What the database refuses again stays in suspense: exit 1.
          """,
        options: DatabaseAddress.options, arguments: [target],
        examples: [CommandExample("handbill suspense retry all", "After a missing table was made.")], run: retry),
      Command(
        "void", summary: "Decides that nobody pays it, and nobody is paid.",
        options: DatabaseAddress.options + [.value("reason", "TEXT", help: "Why; it is kept.")],
        arguments: [CommandArgument("SERVE", help: "The serve id.")],
        examples: [
          CommandExample(
            "handbill suspense void 0198f3a1-7c00-7000-8000-000000000001 --reason \"charged by hand\"",
            "What is settled elsewhere.")
        ], run: void),
    ])

  private static let target = CommandArgument("SERVE", help: "The serve id; or all.")

  @Sendable private static func list(_ invocation: Invocation) async throws -> ExitCode {
    let events = try await onOwnThread {
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) {
        try Suspense($0).list(withVoided: invocation.has("voided"))
      }
    }
    Terminal.print(
      invocation.wantsJSON ? JSONValue.list(events.map(\.json)).prettyText : SuspendedEvent.text(events))
    return .success
  }

  @Sendable private static func retry(_ invocation: Invocation) async throws -> ExitCode {
    let name = invocation.argument(0) ?? ""
    let only = name == "all" ? nil : try serve(name)
    let tries = try await onOwnThread {
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) { try retry(only, Suspense($0)) }
    }
    let rows = tries.map { [$0.serveID.description, $0.outcome] }
    Terminal.print(
      invocation.wantsJSON
        ? JSONValue.list(tries.map(\.json)).prettyText
        : rows.isEmpty ? "Nothing of that is in suspense." : TextTable.text(rows))
    return tries.contains { $0.isRefused } ? .failure : .success
  }

  private struct Try {
    let serveID: ServeID
    let outcome: String
    var isRefused = false

    var json: JSONValue {
      ["serveId": .text(serveID.description), "outcome": .text(outcome), "isRefused": .flag(isRefused)]
    }
  }

  /// What is refused again does not keep the others from being charged.
  private static func retry(_ only: ServeID?, _ suspense: Suspense) throws(PostgresError) -> [Try] {
    var serves: [ServeID] = []
    for event in try suspense.list() where serves.last != event.serveID { serves.append(event.serveID) }
    var tries: [Try] = []
    for serve in serves where only == nil || only == serve {
      do throws(PostgresError) {
        for event in try suspense.retry(serve) {
          tries.append(Try(serveID: serve, outcome: "\(event.kind.name): \(event.fate.name)"))
        }
      } catch {
        guard error.kind == .server else { throw error }
        tries.append(Try(serveID: serve, outcome: "refused: \(error)", isRefused: true))
      }
    }
    return tries
  }

  @Sendable private static func void(_ invocation: Invocation) async throws -> ExitCode {
    let serve = try serve(invocation.argument(0) ?? "")
    guard let reason = invocation.text("reason"), !reason.isEmpty else { throw UsageError("--reason is needed") }
    let count = try await onOwnThread {
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) { try Suspense($0).void(serve, reason: reason) }
    }
    Terminal.print(
      invocation.wantsJSON
        ? (["voided": .integer(Int64(count))] as JSONValue).prettyText
        : count == 0 ? "Nothing of that is in suspense." : "\(count) voided.")
    return count == 0 ? .failure : .success
  }

  private static func serve(_ text: String) throws(UsageError) -> ServeID {
    guard let serve = ServeID(text) else {
      throw UsageError("SERVE must be a serve id, such as handbill suspense list shows")
    }
    return serve
  }
}
