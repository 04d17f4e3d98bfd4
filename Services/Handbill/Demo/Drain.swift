internal import AdEvents
internal import Kafka
internal import Operations
internal import Pipeline
internal import Postgres
internal import Runtime
internal import Threads

/// Whether everything that was written has been decided: each input of each service is at its end, and every sequence
/// that was given has been taken by its consumers.
struct Drain {
  private let kafka: KafkaAddress
  private let connection: PostgresConnection
  private let probe: KafkaTopicProbe
  private let partitions: Int32

  /// - Throws: `PostgresError`, `KafkaError`.
  init(kafka: KafkaAddress, databaseURL: String, partitions: Int32) throws {
    self.kafka = kafka
    self.partitions = partitions
    connection = try DatabaseAddress.connect(databaseURL)
    probe = try KafkaTopicProbe(configuration: kafka.configuration(clientID: "handbill-drain"))
  }

  func close() {
    connection.close()
    probe.close(timeoutMilliseconds: 1_000)
  }

  /// Looks again until nothing is left or the time is over. Blocks.
  ///
  /// - Returns: what is left, a line for each partition; empty when everything is drained.
  func wait(timeoutMilliseconds: Int, stop: StopRequest) throws -> [String] {
    let clock = SystemClock()
    let end = clock.monotonicMilliseconds + Int64(timeoutMilliseconds)
    while true {
      let left = try rest()
      if left.isEmpty || clock.monotonicMilliseconds >= end { return left }
      if stop.wait(milliseconds: 200) { return left }
    }
  }

  /// Services with something stored that is not counted yet: counts are written every few seconds.
  private static let uncounted = PipelineSchema.all.map { UncountedBatches.service($0.schema) }
    .joined(separator: " UNION ALL ")

  /// What is not decided or not counted yet, a line for each partition or service.
  func rest() throws -> [String] {
    try undecided()
      + connection.query(Self.uncounted).map { row in
        "\(try row.decode(0, String.self).replacing("_", with: "-")): not all is counted per minute"
      }
  }

  /// What is not decided yet, a line for each partition.
  private func undecided() throws -> [String] {
    var lines: [String] = []
    var given: [String: Int64] = [:]
    for service in PipelineSchema.all {
      for row in try connection.query("SELECT topic, partition, next_sequence FROM \(service.schema).output") {
        let topic: String = try row.decode(0)
        let partition: Int32 = try row.decode(1)
        given["\(topic)[\(partition)]"] = try row.decode(2)
      }
    }
    for service in PipelineSchema.all {
      let inputs = try LogPositions(service: service, connection: connection).inputs()
      let known = Dictionary(inputs.map { ("\($0.topic)[\($0.partition)]", $0.position) }) { $1 }
      for topic in Topic.allCases
      where PipelineSchema.readers(of: topic).contains(where: { $0.service == service.service }) {
        guard topic != .catalog, topic != .responses else { continue }
        for partition in 0..<partitions {
          let name = "\(topic.name)[\(partition)]"
          if Topic.sequenced.contains(topic) {
            let last = (given[name] ?? 1) - 1
            let consumed = known[name]?.consumedSequence ?? 0
            if consumed < last {
              lines.append("\(service.service): \(name): \(last - consumed) sequences not consumed, up to \(last)")
            }
          } else {
            let bounds = try probe.bounds(topic: topic.name, partition: partition, timeoutMilliseconds: 5_000)
            let next = known[name]?.nextOffset ?? bounds.first
            if next < bounds.end { lines.append("\(service.service): \(name): at \(next), the end is \(bounds.end)") }
          }
        }
      }
    }
    return lines
  }
}
