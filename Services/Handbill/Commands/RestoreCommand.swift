internal import AdCore
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Postgres
internal import Runtime

/// `handbill restore`: what only a person can decide after the database has lost commits.
enum RestoreCommand {
  static let command = Command(
    "restore", summary: "Goes on after the database has lost commits.",
    discussion: """
      A restored backup, or a standby that was promoted without the last commits, is older than what the topics tell. Who
      notices stops. Find out first whether it is the newest that can be had: what is accepted is lost.
      """,
    options: KafkaAddress.options + DatabaseAddress.options,
    subcommands: [
      Command(
        "accept", summary: "Accepts that commits were lost, and goes on above what the topics hold.",
        discussion: """
          Records of the catalogue of which the topic holds later versions are taken back from there. A new timeline is
          begun: sequences go on above what the topics hold, and what lost commits had told is stepped over. What is still
          in the topics of the clients is read again. Events of ads whose decision is lost are held: 'handbill traffic'
          releases or voids them. The network's keys are needed, as the services have them: nothing else in the topics is
          believed. Run again it accepts what has shown since.
          """,
        options: [
          .value("reason", "TEXT", default: "accepted by a person", help: "Why; it is kept."),
          .flag("dry-run", help: "Says what would be done, and does nothing."),
        ],
        examples: [
          CommandExample("handbill restore accept --dry-run", "What was lost, as far as the topics tell."),
          CommandExample("handbill restore accept", "After a backup was restored, with all services running or not."),
        ], run: accept)
    ])

  @Sendable private static func accept(_ invocation: Invocation) async throws -> ExitCode {
    let kafka = try KafkaAddress(invocation)
    let ring = try TokenKeys.ring(
      invocation, because: "what the topics hold is believed under the network's keys alone")
    guard let reason = invocation.text("reason"), !reason.isEmpty else { throw UsageError("--reason must say why") }
    let acceptance = RestoreAcceptance(
      kafka: kafka, databaseURL: try DatabaseAddress.address(invocation), ring: ring, reason: reason,
      isTrial: invocation.has("dry-run"))
    let result = try await onOwnThread { try acceptance.accept() }
    Terminal.print(invocation.wantsJSON ? result.json.prettyText : result.text)
    return .success
  }
}
