internal import AdBasics
internal import AdClient
internal import AdEvents
internal import Kafka
internal import Threads

/// The reading thread: stands in one partition of each app's response topic, from its end, and hands answers to whom
/// they belong. What is for others lies there too, and is dropped.
final class KafkaReader {
  private let transport: TransportState
  private var retry: Retry

  private static let pollMilliseconds: Int32 = 200
  private static let recordsMaximum = 1_000
  private static let metadataTimeoutMilliseconds: Int32 = 5_000
  /// How long the ends of the topics may take to be found before the consumer is built again.
  private static let assignmentMilliseconds: Int64 = 15_000

  init(transport: TransportState) {
    self.transport = transport
    let pauses = transport.settings.reconnectMilliseconds
    retry = Retry(baseMilliseconds: pauses.lowerBound, boundMaximumMilliseconds: pauses.upperBound)
  }

  func run() {
    while !transport.closing.isRequested {
      do {
        try read()
      } catch {
        transport.note("no answers are read", error)
      }
      retry.wait(unless: transport.closing)
    }
  }

  /// Reads until the transport ends; throws, or returns, when the consumer is of no more use.
  private func read() throws(KafkaError) {
    let topics = transport.settings.apps.map { Topic.responses(for: $0) }
    let partition = try replyPartition(topics)
    let consumer = try KafkaConsumer(configuration: transport.configuration(role: "in"), groupID: nil, topics: [])
    defer { consumer.close(timeoutMilliseconds: 1_000) }
    // From the end: what lies there is for others. Later consumers of this transport begin there too; an answer that
    // falls between is asked for again.
    try consumer.assign(
      topics.map {
        KafkaTopicPartitionOffset(topic: $0, partition: partition, offset: KafkaTopicPartitionOffset.end)
      })
    var endsLeft = Set(topics.indices)
    let assignmentEnd = DeviceClock.monotonic.advanced(byMilliseconds: KafkaReader.assignmentMilliseconds)
    while !transport.closing.isRequested {
      var isHeard = false
      let events = try consumer.poll(
        timeoutMilliseconds: KafkaReader.pollMilliseconds, recordsMaximum: KafkaReader.recordsMaximum
      ) {
        take($0)
        isHeard = true
      }
      for event in events {
        switch event {
        case .endReached(let topicIndex, _, _):
          guard endsLeft.remove(topicIndex) != nil, endsLeft.isEmpty else { break }
          retry.reset()
          transport.withNews { $0.replyPartition = partition }
          transport.connected()
        case .error(let error): try KafkaReader.take(error, transport)
        }
      }
      // Whoever's answer it is, a broker has sent it.
      if isHeard, endsLeft.isEmpty { transport.connected() }
      if !endsLeft.isEmpty, DeviceClock.monotonic > assignmentEnd {
        transport.note(AdConnectionProblem(.unreachable, "the ends of \(topics) were not found in time"))
        return
      }
    }
  }

  /// What the consumer says is wrong: an outage is remembered while it reconnects by itself. That one broker is away is none.
  ///
  /// - Throws: The error, when the consumer is of no more use.
  static func take(_ error: KafkaError, _ transport: TransportState) throws(KafkaError) {
    if error.isFatal || !error.isRetriable { throw error }
    if error.codeName == KafkaError.allBrokersDown.codeName { transport.note("no answers come", error) }
  }

  /// One partition for the life of the transport, the same in all response topics.
  private func replyPartition(_ topics: [String]) throws(KafkaError) -> Int32 {
    let admin = try KafkaAdmin(configuration: transport.configuration(role: "who"))
    defer { admin.close(timeoutMilliseconds: 1_000) }
    var count = Int32.max
    for topic in topics {
      count = min(
        count,
        try admin.partitionCount(topic: topic, timeoutMilliseconds: KafkaReader.metadataTimeoutMilliseconds))
    }
    let chosen = transport.withLock { $0.replyPartition } ?? transport.settings.replyPartition
    if let chosen, (0..<count).contains(chosen) { return chosen }
    return count > 0 && count < Int32.max ? Int32.random(in: 0..<count) : 0
  }

  private func take(_ record: borrowing KafkaRecordView) {
    var headers = RecordHeaders()
    record.forEachHeader { name, value in headers.add(name: name, value: value) }
    let named = EncodedRecord.requestID(correlationID: headers.correlationID)
    // Most of what lies here may be for others: the header alone says so.
    if let named, !transport.withLock({ $0.requests.isPending(named) }) {
      transport.withLock { $0.counts.answersDropped += 1 }
      return
    }
    switch AdResponse.decode(value: record.value, headers: headers) {
    case .success(let response) where named == nil || named == response.requestID:
      finish(response.requestID, RequestResult(response, at: DeviceClock.monotonic))
    case .success, .failure:
      // Error 9: no answer to this request that a client can read.
      if let named { finish(named, .invalid) }
    }
  }

  private func finish(_ id: UUIDv7, _ result: RequestResult) {
    let waiting = transport.withProgress { state -> TransportState.WaitingRequest? in
      let waiting = state.requests.answered(id)
      if waiting == nil { state.counts.answersDropped += 1 }
      return waiting
    }
    guard let waiting else { return }
    // Whoever has an answer was heard, also when the broker's word for it was lost with a producer.
    waiting.acknowledged()
    waiting.completion(result)
  }
}
