internal import AdEvents
internal import Kafka
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Begins logs that were replaced at their beginning: after a topic was made anew, or on a new broker.
///
/// What a consumer has taken stays taken. Of an input with sequences, the producing service is asked to publish again
/// from the first sequence not taken, so nothing is lost with the old log but what clients had written there and
/// nobody had read.
struct LogAcceptance {
  let kafka: KafkaAddress
  let databaseURL: String

  /// Accepts what was replaced among the inputs of `services`, all topics or one, and leaves the rest alone.
  ///
  /// Blocks.
  func accept(_ services: [PipelineSchema], topic: String? = nil) throws -> [LogPositions.Result] {
    let connection = try DatabaseAddress.connect(databaseURL)
    defer { connection.close() }
    let probe = try KafkaTopicProbe(configuration: kafka.configuration(clientID: "handbill-log"))
    defer { probe.close(timeoutMilliseconds: 1_000) }
    var results: [LogPositions.Result] = []
    for service in services {
      let positions = LogPositions(service: service, connection: connection)
      for stored in try positions.inputs() where topic == nil || stored.topic == topic {
        results.append(try accept(stored, of: positions, probe))
      }
    }
    return results
  }

  private func accept(
    _ stored: LogPositions.StoredInput, of positions: LogPositions, _ probe: KafkaTopicProbe
  ) throws -> LogPositions.Result {
    let isSequenced = PipelineSchema.sequenced.contains { $0.topic.name == stored.topic }
    let found = try probe.probesByBounds(
      [KafkaTopicPartition(topic: stored.topic, partition: stored.partition)],
      lastOffsets: [stored.position.last?.offset], timeoutMilliseconds: 10_000)[0]
    func result(_ outcome: String, _ detail: String) -> LogPositions.Result {
      LogPositions.Result(
        service: positions.service.service, topic: stored.topic, partition: stored.partition, outcome: outcome,
        detail: detail)
    }
    switch TopicIdentity.check(stored.position, against: found) {
    case .same where stored.position.nextOffset == 0:
      // Nothing was read of it; whether it is new cannot be seen, and to publish again does no harm.
      if isSequenced { try positions.askAgain(stored, from: stored.position.consumedSequence + 1) }
      return result("at the start", "nothing was read yet")
    case .same: return result("same", "the log is the one that was read")
    case .gap(let offsets):
      return result("same", "\(offsets.count) records were removed before they were read; the service records them")
    case .replaced(let detail):
      try positions.accept(stored, firstOffset: found.firstOffset, isSequenced: isSequenced)
      return result("accepted", detail)
    }
  }
}
