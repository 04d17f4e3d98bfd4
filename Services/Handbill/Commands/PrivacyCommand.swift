internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill privacy`: what a person may ask for (A8).
enum PrivacyCommand {
  static let command = Command(
    "privacy", summary: "Shows or erases what is stored about a client.",
    discussion: """
      A client is named by its app and the client id that the app gave it. Nothing holds the id itself: rows have a keyed \
      hash, which is found by the keys of HANDBILL_TOKEN_KEYS. What was hashed by a key that is no longer there, nobody \
      can find. docs/privacy.md says what is stored where.
      """,
    subcommands: [
      Command(
        "export", summary: "Prints every stored request of a client, and what became of it, as JSON.",
        options: options,
        examples: [
          CommandExample("handbill privacy export --app weather --client 6c1f… > client.json", "For whoever asks.")
        ], run: export),
      Command(
        "erase", summary: "Takes a client out of everything that is stored.",
        discussion: """
          What was charged stays, without the client. Events of ads that are in flight may still come: it says until when, \
          and is to be run once more then.
          """,
        options: options,
        examples: [CommandExample("handbill privacy erase --app weather --client 6c1f…", "Once more a day later.")],
        run: erase),
    ])

  private static let options =
    DatabaseAddress.options + ReplaySettings.keys.map(AddressOptions.option) + [
      .value("app", "ID", help: "The app's id."), .value("client", "ID", help: "The client id, as the app sent it."),
    ]

  @Sendable private static func export(_ invocation: Invocation) async throws -> ExitCode {
    let requests = try await with(invocation) { data throws(PostgresError) in try data.export() }
    Terminal.print(JSONValue.list(requests).prettyText)
    return .success
  }

  @Sendable private static func erase(_ invocation: Invocation) async throws -> ExitCode {
    let erased = try await with(invocation) { data throws(PostgresError) in try data.erase(now: SystemClock().now) }
    guard !invocation.wantsJSON else {
      Terminal.print(erased.json.prettyText)
      return .success
    }
    let again = erased.againAfter.map { " Events of ads in flight may come until \($0.utcText): erase once more then." }
    Terminal.print("Erased from \(erased.requests) requests.\(again ?? "")")
    return .success
  }

  private static func with<Result: Sendable>(
    _ invocation: Invocation, _ body: @escaping @Sendable (ClientData) throws(PostgresError) -> Result
  ) async throws -> Result {
    guard let app = invocation.text("app").flatMap({ AppID($0) }) else {
      throw UsageError("--app must be an app's id")
    }
    guard let client = invocation.text("client"), !client.isEmpty else { throw UsageError("--client is needed") }
    guard let ring = try ReplaySettings(invocation).ring else {
      throw UsageError("HANDBILL_TOKEN_KEYS is not set: rows name clients by a hash under the network's keys")
    }
    let hashes = try ClientHasher(ring: ring).hashes(app: app, clientID: client)
    return try await onOwnThread {
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) { try body(ClientData($0, hashes: hashes)) }
    }
  }
}
