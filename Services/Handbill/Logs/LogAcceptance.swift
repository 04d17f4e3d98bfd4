internal import AdCore
internal import AdEvents
internal import Kafka
internal import Pipeline
internal import PipelineHost
internal import Postgres
internal import Runtime

/// Begins logs that were replaced: after a topic was made anew, on a new broker, or where a log was cut.
///
/// Of a log that clients write, what came no later than the last record that was read of the old one was in that one, and
/// was read: so nothing of a log that was cut is decided twice, and one that was made anew is read from its beginning. What
/// a consumer has taken stays taken. Of an input with sequences, the producing service is asked to publish again
/// from the first sequence not taken, so nothing is lost with the old log but what clients had written there and
/// nobody had read.
struct LogAcceptance {
  let kafka: KafkaAddress
  let databaseURL: String
  /// Whether a log that clients write is read from its beginning, whenever its records arrived: those of a broker whose
  /// clock was behind seem to have been read before.
  var isFromBeginning = false
  /// Whether it says what would be done, and does nothing.
  var isTrial = false

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
    let isSequenced = Topic.sequenced.contains { $0.name == stored.topic }
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
      if isSequenced, !isTrial { try positions.askAgain(stored, from: stored.position.consumedSequence + 1) }
      return result("at the start", "nothing was read yet")
    case .same: return result("same", "the log is the one that was read")
    case .gap(let offsets):
      return result("same", "\(offsets.count) records were removed before they were read; the service records them")
    case .replaced(let detail):
      let first = isSequenced ? found.firstOffset : try firstUnread(stored, found, probe)
      if !isTrial { try positions.accept(stored, firstOffset: first, isSequenced: isSequenced) }
      return result(
        isTrial ? "replaced" : "accepted",
        "\(detail); it \(isTrial ? "would go" : "goes") on at \(first)" + passed(stored, found, to: first))
    }
  }

  /// What of a log is taken for read, so that somebody can see that it was not.
  private func passed(_ stored: LogPositions.StoredInput, _ found: TopicProbe, to first: Int64) -> String {
    guard first > found.firstOffset, let last = stored.position.last else { return "" }
    return ", behind \(first - found.firstOffset) records that arrived until "
      + "\(Timestamp(milliseconds: last.timestamp).utcText), when the last was read"
  }

  /// By the brokers' time of arrival; the beginning, where the log tells none.
  private func firstUnread(
    _ stored: LogPositions.StoredInput, _ found: TopicProbe, _ probe: KafkaTopicProbe
  ) throws(KafkaError) -> Int64 {
    guard !isFromBeginning, let last = stored.position.last, last.timestamp > 0, found.firstOffset < found.endOffset
    else {
      return found.firstOffset
    }
    let partition = KafkaTopicPartition(topic: stored.topic, partition: stored.partition)
    let later = try probe.firstOffset(of: partition, after: last.timestamp, timeoutMilliseconds: 10_000)
    return max(found.firstOffset, later ?? found.endOffset)
  }
}
