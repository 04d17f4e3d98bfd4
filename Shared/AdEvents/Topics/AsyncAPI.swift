/// The description of the topics for other people's tools: AsyncAPI 3.0, made from the topics' table and the schema, so
/// that it cannot say anything else than the code does. It is kept as `docs/asyncapi.yaml`.
package enum AsyncAPI {
  /// The version of the wire format.
  static let version = "1.0.0"

  /// The whole document, in YAML.
  package static func document() -> String {
    YAML.map([
      ("asyncapi", .text("3.0.0")),
      ("info", information),
      ("defaultContentType", .text("application/protobuf")),
      ("channels", .map(Topic.allCases.map { ($0.channelName, channel($0)) } + [("reply", replyChannel)])),
      ("operations", .map(operations)),
      (
        "components",
        .map([
          ("messages", .map(Topic.allCases.map { ($0.message.shortName, message($0)) })),
          ("schemas", .map([("envelope", AsyncAPIHeaders.envelope)] + AsyncAPISchemas.all)),
          ("tags", tags),
        ])
      ),
    ]).document()
  }

  /// Whom an operation is for.
  private static var tags: YAML {
    func tag(_ name: String, _ description: String) -> (key: String, value: YAML) {
      (name, .map([("name", .text(name)), ("description", .text(description))]))
    }
    return .map([
      tag("client", "What an app's client does: all that somebody who writes one needs."),
      tag("internal", "What the network's own services do among themselves; no client takes part."),
    ])
  }

  private static var information: YAML {
    .map([
      ("title", .text("Handbill")), ("version", .text(version)),
      (
        "description",
        .text(
          "An open in-app ad network on Kafka. Values are protobuf (package handbill.v1) with CloudEvents' Kafka "
            + "binding in binary mode; protobuf's JSON mapping (application/json) and structured mode "
            + "(application/cloudevents+json) are taken as well. Unknown fields are ignored. All topics but the "
            + "catalogue have the same number of partitions, and everything of one client lives in one number. "
            + "Keys and the headers that we write are UTF-8 text; only a correlation id is what the client made it. "
            + "Nothing that we write is compressed. Operations with the tag client are an app's, those with the tag internal the network's own."
        )
      ),
    ])
  }

  private static func channel(_ topic: Topic) -> YAML {
    var members: [(key: String, value: YAML)] = [
      ("address", .text(topic == .responses ? topic.name + "{app}" : topic.name)),
      ("summary", .text(topic.summary)),
      (
        "description",
        .text(
          "Key: \(topic.keyMeaning). Written by: \(names(topic.writers)). Read by: \(names(topic.readers)). "
            + "Time: \(topic.isWrittenByClients ? "the broker's (LogAppendTime)" : "the writer's (CreateTime)"). "
            + "A value has at most \(topic.message.valueBytesMaximum) bytes; max.message.bytes is for a batch of records, "
            + "unpacked (compression.type=uncompressed)."
        )
      ),
    ]
    if topic == .responses {
      members.append(("parameters", .map([("app", .map([("description", .text("The app's id."))]))])))
    }
    members.append(("messages", messages(topic)))
    members.append(("bindings", .map([("kafka", channelBinding(topic))])))
    return .map(members)
  }

  /// An answer's channel has no address of its own: the request's header names it.
  private static var replyChannel: YAML {
    .map([
      ("address", .null), ("summary", .text("Where a request's answer goes, as its header says.")),
      ("messages", messages(.responses)),
    ])
  }

  private static func messages(_ topic: Topic) -> YAML {
    let name = topic.message.shortName
    return .map([(name, .reference("components/messages/\(name)"))])
  }

  private static func names(_ participants: [Participant]) -> String {
    participants.isEmpty ? "people" : participants.map(\.rawValue).joined(separator: ", ")
  }

  private static func channelBinding(_ topic: Topic) -> YAML {
    var binding: [(key: String, value: YAML)] = []
    if topic != .responses { binding.append(("topic", .text(topic.name))) }
    if case .fixed(let count) = topic.partitionRule { binding.append(("partitions", .number(Int64(count)))) }
    var configuration: [(key: String, value: YAML)] = [("cleanup.policy", .list([.text(topic.cleanup.rawValue)]))]
    if let retention = topic.retentionMilliseconds { configuration.append(("retention.ms", .number(retention))) }
    configuration.append(("max.message.bytes", .number(Int64(topic.batchBytesMaximum))))
    binding.append(("topicConfiguration", .map(configuration)))
    binding.append(("bindingVersion", .text("0.5.0")))
    return .map(binding)
  }

  private static var operations: [(key: String, value: YAML)] {
    var operations: [(key: String, value: YAML)] = []
    for topic in Topic.allCases {
      for participant in topic.writers {
        operations.append((operationName(participant, "sends", topic), operation(participant, "send", topic)))
      }
      for participant in topic.readers {
        operations.append((operationName(participant, "receives", topic), operation(participant, "receive", topic)))
      }
    }
    return operations
  }

  private static func operationName(_ participant: Participant, _ verb: String, _ topic: Topic) -> String {
    let words = participant.rawValue.lowercased().split(separator: " ") + [verb[...], topic.channelName[...]]
    return words.joined(separator: "-")
  }

  private static func operation(_ participant: Participant, _ action: String, _ topic: Topic) -> YAML {
    let channel = "channels/\(topic.channelName)"
    var members: [(key: String, value: YAML)] = [
      ("action", .text(action)), ("channel", .reference(channel)),
      ("summary", .text("\(participant.rawValue): \(topic.summary)")),
      ("description", .text(description(participant, action, topic))),
      ("messages", .list([.reference("\(channel)/messages/\(topic.message.shortName)")])),
      ("tags", .list([.reference("components/tags/\(participant == .client ? "client" : "internal")")])),
    ]
    if topic == .requests, participant == .client {
      members.append(
        (
          "reply",
          .map([
            ("address", .map([("location", .text("$message.header#/kafka_replyTopic"))])),
            ("channel", .reference("channels/reply")),
            ("messages", .list([.reference("channels/reply/messages/\(Topic.responses.message.shortName)")])),
          ])
        ))
    }
    return .map(members)
  }

  /// What whoever does it should know.
  private static func description(_ participant: Participant, _ action: String, _ topic: Topic) -> String {
    switch (participant, topic) {
    case (.client, .requests):
      "Key: \(topic.keyMeaning). The answer comes to the app's own topic, into the partition that "
        + "kafka_replyPartition names; the same request id within 60 s is the same request."
    case (.client, .responses):
      "Read one partition without a consumer group and name it in kafka_replyPartition; others' answers lie there too. "
        + "An answer has the form of its request: a request in JSON, in structured mode too, is answered with "
        + "content-type application/json."
    case (.client, _): "Key: \(topic.keyMeaning). The same ce_id again is the same event and counts once."
    case (.edge, .catalog): "Reads all of it, without a consumer group: whose keys they are that apps bring."
    case (.edge, .responses):
      "Reads one partition of a topic of its own without a consumer group, and hands each answer to the device that "
        + "waits for it."
    case (.edge, _):
      "Writes what devices send it by HTTP, with the key and headers that a device would write; on requests its "
        + "own mark."
    case _ where action == "send" && topic.isWrittenByClients:
      "Forwards what arrived in another partition than its own, with its own headers."
    case _ where action == "send": "Key: \(topic.keyMeaning)."
    case _ where topic == .catalog:
      "Reads all of it, without a consumer group. A null value (tombstone) has no headers and is no event."
    default: "Reads partition i of all its topics in one instance, from the position that its database keeps."
    }
  }

  private static func message(_ topic: Topic) -> YAML {
    var members: [(key: String, value: YAML)] = [
      ("name", .text(topic.message.schemaName)), ("summary", .text(topic.summary)),
      ("contentType", .text("application/protobuf")), ("headers", AsyncAPIHeaders.schema(topic)),
      ("payload", .reference("components/schemas/\(topic.message.shortName)")),
    ]
    if topic == .requests || topic == .responses {
      members.append(
        (
          "correlationId", .map([("location", .text("$message.header#/kafka_correlationId"))])
        ))
    }
    let key = YAML.map([("type", .text("string")), ("description", .text(topic.keyMeaning))])
    members.append(("bindings", .map([("kafka", .map([("key", key), ("bindingVersion", .text("0.5.0"))]))])))
    let examples = AsyncAPIExamples.of(topic)
    if !examples.isEmpty { members.append(("examples", .list(examples))) }
    return .map(members)
  }
}

extension Topic {
  /// The topic's name in the document.
  fileprivate var channelName: String {
    switch self {
    case .requests: "requests"
    case .responses: "responses"
    case .impressions: "impressions"
    case .clicks: "clicks"
    case .acceptedImpressions: "acceptedImpressions"
    case .acceptedClicks: "acceptedClicks"
    case .usage: "usage"
    case .budgets: "budgets"
    case .catalog: "catalog"
    case .rejected: "rejected"
    }
  }
}

extension TopicMessage {
  /// The schema's name without its package.
  fileprivate var shortName: String { AsyncAPISchemas.shortName(schemaName) }
}
