import CLibrdkafka

@testable import Kafka

/// A client that uses Kafka's transactions, as ours never do.
final class ForeignTransaction {
  private let pointer: OpaquePointer
  private static let milliseconds: Int32 = 30_000

  init(bootstrapServers: String, id: String) throws {
    let settings = rd_kafka_conf_new()
    for (name, value) in [("bootstrap.servers", bootstrapServers), ("transactional.id", id), ("linger.ms", "0")] {
      guard rd_kafka_conf_set(settings, name, value, nil, 0) == RD_KAFKA_CONF_OK else {
        throw KafkaError(.configuration, name)
      }
    }
    guard let pointer = rd_kafka_new(RD_KAFKA_PRODUCER, settings, nil, 0) else { throw KafkaError(.other, "no client") }
    self.pointer = pointer
    try Self.check(rd_kafka_init_transactions(pointer, Self.milliseconds))
  }

  deinit { rd_kafka_destroy(pointer) }

  func begin() throws { try Self.check(rd_kafka_begin_transaction(pointer)) }
  func commit() throws { try Self.check(rd_kafka_commit_transaction(pointer, Self.milliseconds)) }

  /// Writes one record to partition 0 and waits until the broker has it.
  func produce(topic: String, value: String) throws {
    let handle = rd_kafka_topic_new(pointer, topic, nil)
    defer { rd_kafka_topic_destroy(handle) }
    var bytes = Array(value.utf8)
    guard rd_kafka_produce(handle, 0, RD_KAFKA_MSG_F_COPY, &bytes, bytes.count, nil, 0, nil) == 0 else {
      throw KafkaError(code: rd_kafka_last_error())
    }
    try KafkaError.check(rd_kafka_flush(pointer, Self.milliseconds))
  }

  private static func check(_ error: OpaquePointer?) throws {
    if let error = KafkaError.consume(error) { throw error }
  }
}
