internal import AdEvents
internal import JSON
internal import LocalProcesses
internal import Operations
internal import Pipeline
internal import Postgres
internal import Runtime

/// `handbill republish`: has a service publish committed messages again.
enum RepublishCommand {
  static let command = Command(
    "republish", summary: "Has a service publish its committed messages again.",
    discussion: """
      Consumers take each sequence once, so publishing again does no harm. The request is a row in the table 'gap_request'
      of a consumer, which the producing service answers within a second or two: it sends the messages again from its
      own rows. By default from the first sequence that some consumer has not taken.
      """,
    options: DatabaseAddress.options + [
      .value("partition", "NUMBER", help: "This partition only."),
      .value("from", "SEQUENCE", help: "From this sequence on."),
    ],
    arguments: [
      CommandArgument(
        "TOPIC",
        help: "One of \(Topic.sequenced.map(\.name).joined(separator: ", ")).")
    ],
    examples: [
      CommandExample("handbill republish ads.impressions.accepted", "All that a consumer has not taken."),
      CommandExample("handbill republish ads.budgets --partition 2 --from 1", "Everything of one partition."),
    ]
  ) { invocation in
    let name = invocation.argument(0) ?? ""
    guard let topic = Topic.sequenced.first(where: { $0.name == name }) else {
      let names = Topic.sequenced.map(\.name).joined(separator: ", ")
      throw UsageError("TOPIC must be one of \(names)")
    }
    let partition = try invocation.integer("partition", in: 0...Int(Int32.max)).map { Int32($0) }
    let from = try invocation.integer("from", in: 1...Int.max).map { Int64($0) }
    let results = try await onOwnThread {
      let connection = try DatabaseAddress.connect(invocation)
      defer { connection.close() }
      return try ask(topic, partition, from, connection)
    }
    if invocation.wantsJSON {
      Terminal.print(JSONValue.list(results.map(\.json)).prettyText)
    } else {
      let rows = results.map {
        ["\($0.topic)[\($0.partition)]", "from sequence \($0.from)", "asked by \($0.consumer)"]
      }
      Terminal.print(rows.isEmpty ? "No consumer has read of it yet." : TextTable.text(rows))
    }
    return .success
  }

  private struct Asked {
    let topic: String
    let partition: Int32
    let from: Int64
    let consumer: String

    var json: JSONValue {
      [
        "consumer": .text(consumer), "from": .integer(from), "partition": .integer(partition),
        "topic": .text(topic),
      ]
    }
  }

  /// One request for each partition, by the consumer that has taken least.
  private static func ask(
    _ topic: Topic, _ partition: Int32?, _ from: Int64?, _ connection: PostgresConnection
  ) throws -> [Asked] {
    var least: [Int32: (positions: LogPositions, input: LogPositions.StoredInput)] = [:]
    for reader in PipelineSchema.readers(of: topic) {
      let positions = LogPositions(service: reader, connection: connection)
      for input in try positions.inputs() where input.topic == topic.name {
        guard partition == nil || partition == input.partition else { continue }
        let known = least[input.partition]?.input.position.consumedSequence ?? .max
        if input.position.consumedSequence < known { least[input.partition] = (positions, input) }
      }
    }
    return try least.values.sorted { $0.input.partition < $1.input.partition }.map { positions, input in
      let sequence = from ?? input.position.consumedSequence + 1
      try positions.askAgain(input, from: sequence)
      return Asked(
        topic: topic.name, partition: input.partition, from: sequence, consumer: positions.service.service)
    }
  }
}
