internal import AdCore
internal import AdEvents
internal import Foundation
internal import JSON
internal import Kafka
internal import LocalProcesses
internal import Operations
internal import Runtime

/// `handbill topics`: the network's topics.
enum TopicsCommand {
  /// The partition count of a new network where nothing else is said.
  static let partitionsDefault: Int32 = 4

  static let command = Command(
    "topics", summary: "Makes and shows the network's topics, and who may use them.",
    options: KafkaAddress.options + [
      .value(
        "partitions", letter: "p", "COUNT",
        help: "The network's partition count; it may only grow. Without it as many as its topics have, else "
          + "\(partitionsDefault)."),
      .value("app", "ID", repeats: true, help: "An app that needs a topic for its answers; may be repeated."),
    ],
    subcommands: [
      Command(
        "create", summary: "Makes the topics that are missing.",
        discussion: """
          Each app's answers go to a topic of its own: name the apps by --app. A topic that is there gets more partitions if \
          it has fewer, and the settings of the table, but keeps its records for the time that was set for it (retention.ms); \
          where that is another than the table's, it is said. What docs/privacy.md promises is set again, always: at most \
          90 days, of ads.rejected 30, and of requests and answers, which name clients in plain, the table's time alone. \
          Of apps' answers that is done for the apps that are named.
          """,
        options: [
          .value(
            "replication-factor", "COUNT", default: "-1", help: "Copies of each partition; -1 is the broker's default."),
          .flag(
            "reset-retention", help: "All topics keep records for the table's time again: what is older is deleted."),
        ],
        examples: [
          CommandExample(
            "handbill topics create -p 12 --app chess --app weather", "12 partitions, and topics for two apps.")
        ], run: create),
      Command(
        "list", summary: "Shows each topic, its partitions and what it is for; exit 1 while one is missing.",
        examples: [CommandExample("handbill topics list --json", "The same as JSON.")], run: list),
      AccessCommand.command,
      Command(
        "asyncapi", summary: "Writes the topics' description, an AsyncAPI 3.0 document in YAML.",
        examples: [
          CommandExample("handbill topics asyncapi > docs/asyncapi.yaml", "Brings the committed one up to date.")
        ]
      ) { _ in
        Terminal.write(AsyncAPI.document(), to: Terminal.standardOutput)
        return .success
      },
    ])

  /// The partition count that is given, and the apps that are named.
  static func settings(_ invocation: Invocation) throws(UsageError) -> (partitions: Int32?, apps: [AppID]) {
    let partitions = try invocation.integer("partitions", in: 1...Int(EmbeddedBroker.partitionsMaximum))
    var apps: [AppID] = []
    for text in invocation.texts("app") {
      let app = try Invocation.app(text, of: "--app")
      guard text != App.reservedID else { throw UsageError("--app \(text): no app has this id, as it is the edge's") }
      apps.append(app)
    }
    return (partitions.map(Int32.init), apps)
  }

  @Sendable private static func create(_ invocation: Invocation) async throws -> ExitCode {
    let (partitions, apps) = try settings(invocation)
    let replication = try invocation.integer("replication-factor", in: -1...9) ?? -1
    let kafka = try KafkaAddress(invocation)
    let results = try await onOwnThread {
      let topics = try NetworkTopics.find(on: kafka, partitions: partitions)
      return try topics.make(
        topics.settings(apps: apps).map { $0.kept(inCopies: Int32(replication)) },
        replicationFactor: Int32(replication), isRetentionReset: invocation.has("reset-retention"))
    }
    if invocation.wantsJSON {
      Terminal.print(JSONValue.list(results.map(\.json)).prettyText)
    } else {
      Terminal.print(TextTable.text(results.map { [$0.topic, "\($0.partitions)", $0.outcome, $0.note ?? ""] }))
    }
    return .success
  }

  private struct Listed {
    let topic: String
    /// Nil while the broker does not have it.
    let partitions: Int32?
    let cleanup: String
    let retentionMilliseconds: String?
    let summary: String

    var json: JSONValue {
      let members: [JSONValue.Member?] = [
        .init("cleanup", .text(cleanup)), partitions.map { .init("partitions", .integer($0)) },
        retentionMilliseconds.map { .init("retentionMilliseconds", .text($0)) }, .init("summary", .text(summary)),
        .init("topic", .text(topic)),
      ]
      return .object(members.compactMap { $0 })
    }
  }

  @Sendable private static func list(_ invocation: Invocation) async throws -> ExitCode {
    let (partitions, apps) = try settings(invocation)
    let kafka = try KafkaAddress(invocation)
    let (wanted, counts) = try await onOwnThread {
      let topics = try NetworkTopics.find(on: kafka, partitions: partitions)
      let wanted = topics.settings(apps: apps)
      return (wanted, try topics.counts(wanted))
    }
    let rows = wanted.map { topic in
      let known = Topic.allCases.first { $0.name == topic.name } ?? .responses
      return Listed(
        topic: topic.name, partitions: counts[topic.name], cleanup: topic.configuration["cleanup.policy"] ?? "",
        retentionMilliseconds: topic.configuration["retention.ms"], summary: known.summary)
    }
    if invocation.wantsJSON {
      Terminal.print(JSONValue.list(rows.map(\.json)).prettyText)
    } else {
      Terminal.print(TextTable.text(rows.map { [$0.topic, $0.partitions.map { "\($0)" } ?? "missing", $0.summary] }))
    }
    return rows.allSatisfy { $0.partitions != nil } ? .success : .failure
  }
}
