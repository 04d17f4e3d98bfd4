internal import AdCore

/// A record's headers as JSON Schema: what must be there, what should, and what happens without.
enum AsyncAPIHeaders {
  /// CloudEvents' attributes that an event in binary mode must have.
  private static let attributes = ["ce_specversion", "ce_id", "ce_source", "ce_type"]

  /// The headers of a topic's records.
  static func schema(_ topic: Topic) -> YAML {
    let types = topic.message.eventTypes.map { YAML.text("\($0.name)") }
    var properties: [(key: String, value: YAML)] = [
      ("ce_type", .map([("type", .text("string")), ("enum", .list(types))]))
    ]
    if topic == .requests { properties += replyHeaders }
    if topic == .responses {
      properties.append(("kafka_correlationId", text("Of the request, unchanged; absent where it had none.")))
    }
    if topic.isAuthenticated {
      properties.append(
        (
          "\(MessageMAC.headerName)",
          text(
            "Ours alone: the MAC of topic, partition, key, value and handbill_timeline under the network's keys, in base64 "
              + "(macWrong without it): the key's number in 2 bytes, big-endian, and the first 16 of an HMAC-SHA-256.")
        ))
    }
    if Topic.writer(ofSequenced: topic.name) != nil {
      properties.append(
        (
          "\(TimelineMark.headerName)",
          text(
            "Ours alone: how far the writer's database had come: its timeline's id, the last sequence of the topic and "
              + "partition, and the writer's last batch there, parted by dots.")
        ))
    }
    var own: [(key: String, value: YAML)] = [("type", .text("object")), ("properties", .map(properties))]
    if topic.isWrittenByClients {
      own.append(("anyOf", .list(ways)))
    } else {
      let mac = topic.isAuthenticated ? ["\(MessageMAC.headerName)"] : []
      own.append(("required", required(["content-type", "ce_time"] + attributes + mac)))
    }
    return .map([("allOf", .list([.reference("components/schemas/envelope"), .map(own)]))])
  }

  /// The three ways in which a client may write a record.
  private static var ways: [YAML] {
    let alone = attributes.map { YAML.map([("required", required([$0]))]) }
    return [
      .map([
        ("title", .text("Binary mode: all four attributes as headers")),
        (
          "description",
          .text(
            "Protobuf needs content-type as well. JSON should have it; without, a value that begins with { is JSON.")
        ),
        ("required", required(attributes)),
      ]),
      .map([
        ("title", .text("Structured mode: the attributes in the value")), ("required", required(["content-type"])),
        ("properties", .map([("content-type", .map([("const", .text("application/cloudevents+json"))]))])),
      ]),
      .map([
        ("title", .text("JSON fed by hand: none of the four")),
        (
          "description",
          .text(
            "The value is then the event's identity: the same bytes again are a duplicate. One attribute without the "
              + "others is rejected as invalidEnvelope.")
        ),
        ("properties", .map([("content-type", .map([("const", .text("application/json"))]))])),
        ("not", .map([("anyOf", .list(alone))])),
      ]),
    ]
  }

  private static var replyHeaders: [(key: String, value: YAML)] {
    [
      (
        "kafka_replyTopic",
        text(
          "Not needed: the answer goes to the app's own topic. Where it is given, it must be that (invalidReply, "
            + "and the answer says so).")
      ),
      (
        "kafka_replyPartition",
        text(
          "Recommended: 4 bytes, big-endian, of a partition that the app's topic has. Without it, or "
            + "where there is no such partition (invalidReply), the answer goes to partition 0.")
      ),
      (
        "kafka_correlationId",
        text(
          "At most \(FieldLimits.correlationIDBytesMaximum) bytes, echoed unchanged. Better text: readers of CloudEvents "
            + "take headers as UTF-8. Without it the answer is known by its ce_id and request_id.")
      ),
      (
        "handbill_edge",
        text(
          "The edge's alone: what it saw of whoever asks, under a MAC, in base64. With it the answer goes to "
            + "\(Topic.edgeResponses), whatever the app.")
      ),
      (
        "handbill_forwarded",
        text("Ours alone: the mark, in base64, of a request that was forwarded to its partition.")
      ),
    ]
  }

  private static func required(_ names: [String]) -> YAML { .list(names.map(YAML.text)) }

  private static func text(_ description: String) -> YAML {
    .map([("type", .text("string")), ("description", .text(description))])
  }

  /// CloudEvents' attributes, as headers.
  static var envelope: YAML {
    .map([
      ("type", .text("object")),
      (
        "properties",
        .map([
          (
            "content-type",
            .map([
              ("type", .text("string")),
              (
                "enum",
                .list(
                  ["application/protobuf", "application/json", "application/cloudevents+json"].map(YAML.text))
              ),
              (
                "description",
                .text(
                  "With parameters after ; or in other case as well. Anything else is rejected (unknownContentType).")
              ),
            ])
          ),
          ("ce_specversion", .map([("type", .text("string")), ("const", .text("1.0"))])),
          (
            "ce_id",
            text(
              "The event's identity: the same again is a duplicate. 1 to \(FieldLimits.headerBytesMaximum) bytes. Of an "
                + "answer it is the request's id.")
          ),
          ("ce_source", text("Who made the event; not empty.")),
          (
            "ce_time",
            .map([
              ("type", .text("string")), ("format", .text("date-time")),
              (
                "description",
                .text(
                  "When it was made; anything but a time of RFC 3339 is rejected. Of a client's event it counts only where the event has no age, held between the "
                    + "token's issued-at and the arrival.")
              ),
            ])
          ),
        ])
      ),
    ])
  }
}
