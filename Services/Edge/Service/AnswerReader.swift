internal import AdEvents
internal import Kafka
internal import Runtime
internal import Threads

/// The thread that reads answers: it stands in one partition of the edge's topic, from its end. Another instance may stand in
/// the same one; each drops what is the other's.
struct AnswerReader: Sendable {
  private static let pollMilliseconds: Int32 = 200
  private static let recordsMaximum = 1_000
  /// How long the topic's end may take to be found before the consumer is made again.
  private static let endMilliseconds = 15_000

  let kafka: KafkaConfiguration
  /// Nil: any.
  let partition: Int32?
  let exchange: EdgeExchange
  let logger: Logger

  /// Reads until the stop is requested.
  func run(stop: StopRequest, readiness: Readiness, beat: () -> Void) {
    var retry = Retry(baseMilliseconds: 100)
    while !stop.isRequested {
      beat()
      do throws(KafkaError) {
        try read(stop: stop, beat: beat) {
          readiness.setReady()
          retry.reset()
        }
      } catch {
        logger.limited(
          .warning, key: "answers", "answers cannot be read; the reader begins again at the topic's end",
          ["error": .init(error.description)])
      }
      exchange.reads(partition: nil)
      readiness.setNotReady("no answers are read")
      retry.wait(unless: stop)
    }
  }

  private func read(stop: StopRequest, beat: () -> Void, isThere: () -> Void) throws(KafkaError) {
    let count = exchange.answerPartitionCount ?? 1
    let chosen = partition.map { $0 % count } ?? Int32.random(in: 0..<count)
    let consumer = try KafkaConsumer(configuration: kafka, groupID: nil, topics: [])
    defer { consumer.close(timeoutMilliseconds: 1_000) }
    try consumer.assign([
      KafkaTopicPartitionOffset(
        topic: Topic.edgeResponses, partition: chosen, offset: KafkaTopicPartitionOffset.end)
    ])
    let deadline = Deadline(afterMilliseconds: Self.endMilliseconds)
    var isAtEnd = false
    while !stop.isRequested {
      beat()
      let events = try consumer.poll(
        timeoutMilliseconds: Self.pollMilliseconds, recordsMaximum: Self.recordsMaximum
      ) { take($0) }
      for event in events {
        switch event {
        case .endReached:
          guard !isAtEnd else { break }
          isAtEnd = true
          exchange.reads(partition: chosen)
          isThere()
          logger.info("answers are read", ["partition": .init(Int(chosen))])
        case .error(let error): if error.isFatal || !error.isRetriable { throw error }
        }
      }
      if !isAtEnd, deadline.isOver {
        logger.limited(.warning, key: "answers-end", "the end of the answers was not found in time")
        return
      }
    }
  }

  private func take(_ record: borrowing KafkaRecordView) {
    var headers = RecordHeaders(hashesID: false)
    record.forEachHeader { headers.add(name: $0, value: $1) }
    guard let value = record.value else { return }
    exchange.take(
      EdgeExchange.Answer(
        body: Array(value), contentType: headers.contentType == .json ? "application/json" : "application/protobuf"),
      correlationID: headers.correlationID)
  }
}
