import AdEvents
import Kafka
import Postgres
import Runtime

/// Measures how long it takes until everything that has been written is decided: every input is past the end that its
/// log had at the beginning, and every sequence given meanwhile is taken by all its consumers.
struct RecoveryWatch {
  private static let clientTopics: [(topic: Topic, schema: String)] = [
    (.requests, "ad_selection"), (.impressions, "impression_tracking"), (.clicks, "click_tracking"),
  ]
  private static let schemas = ["ad_selection", "impression_tracking", "click_tracking", "billing"]
  private static let consumers: [(topic: Topic, producer: String, consumers: [String])] = [
    (.acceptedImpressions, "impression_tracking", ["click_tracking", "billing"]),
    (.acceptedClicks, "click_tracking", ["billing"]), (.usage, "ad_selection", ["billing"]),
    (.budgets, "billing", ["ad_selection"]),
  ]

  /// A place that a consumer has to reach.
  private struct Goal: Hashable {
    let schema: String
    let topic: String
    let partition: Int32
  }

  let network: FaultNetwork

  /// Blocks until all is decided.
  ///
  /// - Returns: milliseconds from the call on.
  /// - Throws: `FaultFailure` that names what is left when the time is over.
  func measure(timeoutMilliseconds: Int64) throws -> Int64 {
    let clock = SystemClock()
    let began = clock.monotonicMilliseconds
    let end = began + timeoutMilliseconds
    let connection = try network.connection()
    defer { connection.close() }
    var known: [Goal: Int64]?
    while known == nil {
      // A broker that is not quite there yet is asked again.
      do { known = try ends() } catch let error as KafkaError {
        guard clock.monotonicMilliseconds < end else { throw FaultFailure("the logs' ends cannot be seen: \(error)") }
        network.pause(milliseconds: 50)
      }
    }
    try wait(for: known ?? [:], column: "next_offset", connection, until: end)
    // What was decided last made sequences that make others: impressions, then clicks that waited for them.
    for _ in 0..<2 { try wait(for: try given(connection), column: "consumed_sequence", connection, until: end) }
    return clock.monotonicMilliseconds - began
  }

  private func ends() throws -> [Goal: Int64] {
    let probe = try KafkaTopicProbe(configuration: network.kafkaConfiguration("faults-ends"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    var goals: [Goal: Int64] = [:]
    for (topic, schema) in Self.clientTopics {
      for partition in 0..<(try probe.partitionCount(topic: topic.name, timeoutMilliseconds: 10_000)) {
        let bounds = try probe.bounds(topic: topic.name, partition: partition, timeoutMilliseconds: 10_000)
        if bounds.end > bounds.first {
          goals[Goal(schema: schema, topic: topic.name, partition: partition)] = bounds.end
        }
      }
    }
    return goals
  }

  private func given(_ connection: PostgresConnection) throws -> [Goal: Int64] {
    var goals: [Goal: Int64] = [:]
    for (topic, producer, consumers) in Self.consumers {
      let rows = try connection.query(
        "SELECT partition, next_sequence - 1 FROM \(producer).output WHERE topic = $1", [topic.name])
      for row in rows {
        let last: Int64 = try row.decode(1)
        guard last > 0 else { continue }
        for schema in consumers {
          goals[Goal(schema: schema, topic: topic.name, partition: try row.decode(0))] = last
        }
      }
    }
    return goals
  }

  private func wait(
    for goals: [Goal: Int64], column: String, _ connection: PostgresConnection, until end: Int64
  ) throws {
    let clock = SystemClock()
    while true {
      var left = goals
      for schema in Self.schemas {
        for row in try connection.query("SELECT topic, partition, \(column) FROM \(schema).input") {
          let goal = Goal(schema: schema, topic: try row.decode(0), partition: try row.decode(1))
          if let wanted = goals[goal], try row.decode(2, Int64.self) >= wanted { left[goal] = nil }
        }
      }
      if left.isEmpty { return }
      guard clock.monotonicMilliseconds < end else {
        let names = left.map { "\($0.key.schema): \($0.key.topic)[\($0.key.partition)] before \($0.value)" }
        throw FaultFailure("not recovered in time: \(names.sorted().prefix(6).joined(separator: "; "))")
      }
      network.pause(milliseconds: 50)
    }
  }
}
