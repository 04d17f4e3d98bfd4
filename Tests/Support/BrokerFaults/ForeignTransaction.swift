import CLibrdkafka

@testable internal import Kafka

/// A client that uses Kafka's transactions, as ours never do, and may leave one open.
@safe package final class ForeignTransaction {
  private let pointer: OpaquePointer
  private static let milliseconds: Int32 = 30_000

  /// Begins a transaction, which the broker gives up when nobody ends it in time.
  package init(bootstrapServers: String, id: String, timeoutMilliseconds: Int = 60_000) throws {
    let settings = unsafe rd_kafka_conf_new()
    let values = [
      ("bootstrap.servers", bootstrapServers), ("transactional.id", id), ("linger.ms", "0"),
      ("transaction.timeout.ms", "\(timeoutMilliseconds)"),
    ]
    for (name, value) in values {
      guard unsafe rd_kafka_conf_set(settings, name, value, nil, 0) == RD_KAFKA_CONF_OK else {
        throw KafkaError(.configuration, name)
      }
    }
    guard let pointer = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, settings, nil, 0) else {
      throw KafkaError(.other, "librdkafka gives no client")
    }
    unsafe self.pointer = unsafe pointer
    try unsafe Self.check(rd_kafka_init_transactions(pointer, Self.milliseconds))
    try unsafe Self.check(rd_kafka_begin_transaction(pointer))
  }

  deinit { unsafe rd_kafka_destroy(pointer) }

  package func commit() throws { try unsafe Self.check(rd_kafka_commit_transaction(pointer, Self.milliseconds)) }
  package func abort() throws { try unsafe Self.check(rd_kafka_abort_transaction(pointer, Self.milliseconds)) }

  /// Writes one record and waits until the broker has it.
  package func write(topic: String, partition: Int32, value: [UInt8]) throws {
    let handle = unsafe rd_kafka_topic_new(pointer, topic, nil)
    defer { unsafe rd_kafka_topic_destroy(handle) }
    var bytes = value
    guard unsafe rd_kafka_produce(handle, partition, RD_KAFKA_MSG_F_COPY, &bytes, bytes.count, nil, 0, nil) == 0 else {
      throw KafkaError(code: rd_kafka_last_error())
    }
    try unsafe KafkaError.check(rd_kafka_flush(pointer, Self.milliseconds))
  }

  private static func check(_ error: OpaquePointer?) throws {
    if let error = unsafe KafkaError.consume(error) { throw error }
  }
}
