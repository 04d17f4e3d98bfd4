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
      A client is named by its app and the client id that the app gave it, or the session id where it gave none. Nothing \
      holds the id itself: rows have a keyed hash, which is found by the keys of HANDBILL_TOKEN_KEYS. What was hashed by \
      a key that is no longer there, nobody can find. docs/privacy.md says what is stored where.
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
    DatabaseAddress.options + TokenKeys.options + [
      .value("app", "ID", help: "The app's id."),
      .value("client", "ID", help: "The client id as the app sent it, or the session id where it sent none."),
    ]

  @Sendable private static func export(_ invocation: Invocation) async throws -> ExitCode {
    let (requests, isRegistered) = try await with(invocation) { data throws(PostgresError) in try data.export() }
    Terminal.print(JSONValue.list(requests).prettyText)
    return tellAbsence(requests.isEmpty, isRegistered)
  }

  @Sendable private static func erase(_ invocation: Invocation) async throws -> ExitCode {
    let (erased, isRegistered) = try await with(invocation) { data throws(PostgresError) in
      try data.erase(now: SystemClock().now)
    }
    if invocation.wantsJSON {
      Terminal.print(erased.json.prettyText)
    } else if let again = erased.againAfter {
      Terminal.print(
        "Erased from \(erased.requests) \(erased.requests == 1 ? "request" : "requests"). "
          + "Events of ads in flight may come until \(again.utcText): erase once more then.")
    }
    return tellAbsence(erased.requests == 0, isRegistered)
  }

  /// Nothing found may be true, or a slip of whoever types: of an app that nobody knows it is a failure.
  private static func tellAbsence(_ isAbsent: Bool, _ isRegistered: Bool) -> ExitCode {
    guard isAbsent else { return .success }
    guard isRegistered else {
      Terminal.note("Nothing is stored of this client, and the catalogue has no such app: is the app's id right?")
      return .failure
    }
    Terminal.note(
      "Nothing is stored of this client under the keys of HANDBILL_TOKEN_KEYS; what was hashed by others nobody can find."
    )
    return .success
  }

  private static func with<Result: Sendable>(
    _ invocation: Invocation, _ body: @escaping @Sendable (ClientData) throws(PostgresError) -> Result
  ) async throws -> (result: Result, isRegistered: Bool) {
    let app = try invocation.app()
    guard let client = invocation.text("client"), !client.isEmpty else { throw UsageError("--client is needed") }
    let ring = try TokenKeys.ring(invocation, because: "rows name clients by a hash under the network's keys")
    let hashes = try ClientHasher(ring: ring).hashes(app: app, id: client)
    return try await onOwnThread {
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) { pool in
        let data = ClientData(pool, hashes: hashes)
        return (try body(data), try data.isRegistered(app))
      }
    }
  }
}
