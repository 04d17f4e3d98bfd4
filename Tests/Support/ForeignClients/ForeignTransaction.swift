import CLibrdkafka

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
        throw Refused(what: name)
      }
    }
    guard let pointer = unsafe rd_kafka_new(RD_KAFKA_PRODUCER, settings, nil, 0) else {
      throw Refused(what: "a client")
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
      throw Refused(what: "a record")
    }
    guard unsafe rd_kafka_flush(pointer, Self.milliseconds) == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw Refused(what: "the end of a record's way")
    }
  }

  /// What librdkafka would not do.
  package struct Refused: Error {
    package let what: String
  }

  private static func check(_ error: OpaquePointer?) throws {
    guard let error = unsafe error else { return }
    defer { unsafe rd_kafka_error_destroy(error) }
    throw unsafe Refused(what: String(cString: rd_kafka_error_string(error)))
  }
}
