import CLibrdkafka

/// A client that uses Kafka's transactions, as ours never do, and may leave one open.
final class ForeignTransaction {
  private let pointer: OpaquePointer
  private static let milliseconds: Int32 = 30_000

  /// Begins a transaction.
  ///
  /// - Throws: `FaultFailure` with Kafka's words.
  init(bootstrapServers: String, id: String, timeoutMilliseconds: Int) throws {
    let settings = rd_kafka_conf_new()
    let values = [
      ("bootstrap.servers", bootstrapServers), ("transactional.id", id), ("linger.ms", "0"),
      ("transaction.timeout.ms", "\(timeoutMilliseconds)"),
    ]
    for (name, value) in values where rd_kafka_conf_set(settings, name, value, nil, 0) != RD_KAFKA_CONF_OK {
      throw FaultFailure("librdkafka refuses \(name)")
    }
    guard let pointer = rd_kafka_new(RD_KAFKA_PRODUCER, settings, nil, 0) else {
      throw FaultFailure("librdkafka gives no client")
    }
    self.pointer = pointer
    try Self.check(rd_kafka_init_transactions(pointer, Self.milliseconds))
    try Self.check(rd_kafka_begin_transaction(pointer))
  }

  deinit { rd_kafka_destroy(pointer) }

  /// Writes one record and waits until the broker has it.
  func write(topic: String, partition: Int32, value: [UInt8]) throws {
    let handle = rd_kafka_topic_new(pointer, topic, nil)
    defer { rd_kafka_topic_destroy(handle) }
    var bytes = value
    let result = rd_kafka_produce(handle, partition, RD_KAFKA_MSG_F_COPY, &bytes, bytes.count, nil, 0, nil)
    guard result == 0, rd_kafka_flush(pointer, Self.milliseconds) == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw FaultFailure("a record of a transaction was not written")
    }
  }

  func commit() throws { try Self.check(rd_kafka_commit_transaction(pointer, Self.milliseconds)) }
  func abort() throws { try Self.check(rd_kafka_abort_transaction(pointer, Self.milliseconds)) }

  private static func check(_ error: OpaquePointer?) throws {
    guard let error else { return }
    defer { rd_kafka_error_destroy(error) }
    throw FaultFailure(rd_kafka_error_string(error).map { String(cString: $0) } ?? "a transaction failed")
  }
}
