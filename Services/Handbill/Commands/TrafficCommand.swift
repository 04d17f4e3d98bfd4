internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Runtime

/// `handbill traffic`: what only a person can decide about traffic beyond apps' caps (B8).
enum TrafficCommand {
  static let command = Command(
    "traffic", summary: "Releases or voids traffic that is held.",
    discussion: """
      Beyond the caps of an app's hour (HANDBILL_CAP_…) accepted events are recorded and held: nobody is billed and
      nobody is paid until a person has looked at them. Their day is not sealed before that.
      """,
    subcommands: [
      Command(
        "held", summary: "Shows what is held, by app and hour.", options: DatabaseAddress.options,
        examples: [CommandExample("handbill traffic held", "Everything that waits for a person.")], run: held),
      Command(
        "release", summary: "Has it billed after all.",
        discussion: """
          It is charged by the terms of its serves from free budget, or waits for it, or is unfunded, as an event is for
          which no allotment is left. The partitions that held it are opened again.
          """,
        options: options,
        examples: [
          CommandExample(
            "handbill traffic release --app chess --reason \"featured on television\"", "A good hour of a good app.")
        ]
      ) { try await resolve($0, isReleased: true) },
      Command(
        "void", summary: "Decides that nobody pays it, and nobody is paid.", options: options,
        examples: [
          CommandExample(
            "handbill traffic void --app chess --from 2026-11-24T10:00:00Z --until 2026-11-24T11:59:59Z "
              + "--reason \"one machine in a cellar\"", "Two hours of fraud.")
        ]
      ) { try await resolve($0, isReleased: false) },
    ])

  private static let options =
    DatabaseAddress.options + [
      .value("app", "ID", help: "The app."),
      .value("from", "TIME", help: "From the hour of this moment on, by when ads were served; else from the first."),
      .value("until", "TIME", help: "Up to the hour of this moment; else up to the last."),
      .value("reason", "TEXT", help: "Why; it is kept."),
    ]

  @Sendable private static func held(_ invocation: Invocation) async throws -> ExitCode {
    let hours = try await onOwnThread {
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) { try HeldTraffic($0).list() }
    }
    Terminal.print(invocation.wantsJSON ? JSONValue.list(hours.map(\.json)).prettyText : HeldHour.text(hours))
    return .success
  }

  private static func resolve(_ invocation: Invocation, isReleased: Bool) async throws -> ExitCode {
    let app = try invocation.app()
    guard let reason = invocation.text("reason"), !reason.isEmpty else { throw UsageError("--reason is needed") }
    let first = try moment(invocation, "from") ?? Timestamp(milliseconds: 0)
    let last = try moment(invocation, "until") ?? Timestamp(milliseconds: Int64(Int32.max) * 3_600_000)
    guard first <= last else { throw UsageError("--until lies before --from") }
    let resolution = HeldTraffic.Resolution(app: app, hours: first...last, isReleased: isReleased, reason: reason)
    let events = try await onOwnThread {
      try ReportCommand.withPool(DatabaseAddress.address(invocation)) { try HeldTraffic($0).resolve(resolution) }
    }
    let word = isReleased ? "released" : "voided"
    Terminal.print(
      invocation.wantsJSON
        ? ([word: .integer(events)] as JSONValue).prettyText
        : events == 0 ? "Nothing of that is held." : "\(events) \(word).")
    // Decided again, or nothing there: what was asked for is so.
    return .success
  }

  private static func moment(_ invocation: Invocation, _ name: String) throws(UsageError) -> Timestamp? {
    guard let text = invocation.text(name) else { return nil }
    guard let moment = Timestamp(utcText: text) else {
      throw UsageError("--\(name) must be a moment in UTC, such as 2026-11-24T10:00:00Z")
    }
    return moment
  }
}
