internal import AdEvents
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Pipeline
internal import Postgres
internal import Runtime

/// `handbill log`: what only a person can decide about logs.
enum LogCommand {
  static let command = Command(
    "log", summary: "Decides about logs that were replaced or lost.",
    discussion: """
      A service that finds another log where it has read before stops that partition and says so. Find out why first:
      a topic that was made anew, another broker, a restored backup.
      """,
    options: KafkaAddress.options + DatabaseAddress.options,
    subcommands: [
      Command(
        "accept", summary: "Begins replaced logs, where nothing of them was read.",
        discussion: """
          Only partitions whose log was replaced are touched. What the service has taken stays taken, and the services
          that produce for it publish again what it has not. A running service goes on by itself.
          """,
        options: [
          .value("topic", "NAME", help: "This topic only."),
          .flag("dry-run", help: "Says what would be done, and does nothing."),
          .flag(
            "from-beginning",
            help: "Also what seems to have been read before, by its time of arrival: where the new broker's clock was "
              + "behind."),
        ],
        arguments: [CommandArgument("SERVICE", help: "The service that stopped, such as billing; or all.")],
        examples: [
          CommandExample("handbill log accept click-tracking --topic ads.clicks", "After ads.clicks was made anew."),
          CommandExample("handbill log accept all --dry-run", "What it would take for read, and where it would go on."),
          CommandExample("handbill log accept all", "After Kafka was replaced by a new one."),
        ], run: accept),
      Command(
        "skip", summary: "Records a range of a log as lost, and goes on behind it.",
        discussion: "The range must begin where the service stands. It is recorded as lost, with the reason, and "
          + "counted in no report.",
        options: [
          .value("from", "OFFSET", help: "The first offset that is lost: where the service stands."),
          .value("to", "OFFSET", help: "The offset after the last that is lost."),
          .value("reason", "TEXT", default: "skipped by a person", help: "Why; it is kept."),
        ],
        arguments: [
          CommandArgument("SERVICE", help: "The service that is to go on."),
          CommandArgument("TOPIC", help: "The topic."), CommandArgument("PARTITION", help: "The partition's number."),
        ],
        examples: [
          CommandExample(
            "handbill log skip billing ads.usage 3 --from 1200 --to 1300", "100 records that nobody can read.")
        ], run: skip),
    ])

  @Sendable private static func accept(_ invocation: Invocation) async throws -> ExitCode {
    let name = invocation.argument(0) ?? ""
    let services = name == "all" ? PipelineSchema.all : [try PipelineSchema.named(name)]
    if let topic = invocation.text("topic"), !Topic.allCases.contains(where: { $0.name == topic }) {
      throw UsageError("--topic must be a topic of the network, as 'handbill topics list' names them")
    }
    let kafka = try KafkaAddress(invocation)
    let results = try await onOwnThread {
      let acceptance = LogAcceptance(
        kafka: kafka, databaseURL: try DatabaseAddress.address(invocation),
        isFromBeginning: invocation.has("from-beginning"), isTrial: invocation.has("dry-run"))
      return try acceptance.accept(services, topic: invocation.text("topic"))
    }
    show(results, invocation)
    return .success
  }

  @Sendable private static func skip(_ invocation: Invocation) async throws -> ExitCode {
    let service = try PipelineSchema.named(invocation.argument(0) ?? "")
    let topic = invocation.argument(1) ?? ""
    guard let partition = Int32(invocation.argument(2) ?? ""), partition >= 0 else {
      throw UsageError("PARTITION must be a whole number from 0")
    }
    guard let from = try invocation.integer("from", in: 0...Int.max - 1),
      let end = try invocation.integer("to", in: 1...Int.max), end > from
    else { throw UsageError("--from and --to are needed, and --to must be the higher one") }
    let result = try await onOwnThread {
      let connection = try DatabaseAddress.connect(invocation)
      defer { connection.close() }
      let positions = LogPositions(service: service, connection: connection)
      let found = try positions.inputs().first { $0.topic == topic && $0.partition == partition }
      guard let found else { throw UsageError("\(service.service) does not read \(topic)[\(partition)]") }
      guard found.position.nextOffset == Int64(from) else {
        throw UsageError("\(service.service) stands at \(found.position.nextOffset), not at \(from)")
      }
      try positions.skip(found, Int64(from)..<Int64(end), detail: invocation.text("reason") ?? "")
      return LogPositions.Result(
        service: service.service, topic: topic, partition: partition, outcome: "skipped",
        detail: "\(end - from) offsets, up to \(end)")
    }
    show([result], invocation)
    return .success
  }

  private static func show(_ results: [LogPositions.Result], _ invocation: Invocation) {
    let rows = results.map { [$0.service, "\($0.topic)[\($0.partition)]", $0.outcome, $0.detail] }
    Terminal.print(
      invocation.wantsJSON
        ? JSONValue.list(results.map(\.json)).prettyText : rows.isEmpty ? "Nothing was read yet." : TextTable.text(rows)
    )
  }
}
