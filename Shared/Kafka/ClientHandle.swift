internal import CLibrdkafka
internal import Threads

/// One `rd_kafka_t` and the queue from which it is served.
///
/// Everything comes as events on that one queue (`rd_kafka_queue_poll`): no callback, so no opaque and no code of ours
/// on librdkafka's threads. `rd_kafka_destroy` can block for long (2.0.2 hangs when a partition was lost): it never
/// runs in a `deinit`, and the owner's wait for it is bounded.
///
/// `@unchecked Sendable` holds because both pointers never change, librdkafka's functions on them are thread-safe, and
/// the owner calls `destroy` once, when no other thread can be inside a call.
@safe final class ClientHandle: @unchecked Sendable {
  let pointer: OpaquePointer
  let queue: OpaquePointer
  private let log: (@Sendable (KafkaLogLine) -> Void)?
  private let credentials: (user: String, password: String)

  init(_ configuration: KafkaConfiguration, role: ClientRole) throws(KafkaError) {
    let settings = try unsafe ClientHandle.makeSettings(configuration, role: role)
    let type =
      switch role {
      case .producer: RD_KAFKA_PRODUCER
      case .consumer, .admin: RD_KAFKA_CONSUMER
      }
    var reason = [CChar](repeating: 0, count: 512)
    guard let pointer = unsafe rd_kafka_new(type, settings, &reason, reason.count) else {
      // The settings become the client's only when there is one.
      unsafe rd_kafka_conf_destroy(settings)
      throw KafkaError(.configuration, ClientHandle.text(reason))
    }
    if case .consumer = role {
      unsafe rd_kafka_poll_set_consumer(pointer)
      unsafe queue = unsafe rd_kafka_queue_get_consumer(pointer)
    } else {
      unsafe queue = unsafe rd_kafka_queue_get_main(pointer)
    }
    unsafe self.pointer = unsafe pointer
    log = configuration.log
    credentials = (configuration.properties["sasl.username"] ?? "", configuration.properties["sasl.password"] ?? "")
    unsafe rd_kafka_set_log_queue(pointer, queue)
  }

  private static func makeSettings(
    _ configuration: KafkaConfiguration, role: ClientRole
  ) throws(KafkaError) -> OpaquePointer {
    guard configuration.clientID.utf8.count <= KafkaConfiguration.clientIDBytesMaximum else {
      throw KafkaError(.configuration, "the client id is longer than \(KafkaConfiguration.clientIDBytesMaximum) bytes")
    }
    guard let settings = unsafe rd_kafka_conf_new() else { throw KafkaError(.configuration, "no memory for settings") }
    var reason = [CChar](repeating: 0, count: 512)
    for (name, value) in configuration.settings(for: role) {
      guard unsafe rd_kafka_conf_set(settings, name, value, &reason, reason.count) == RD_KAFKA_CONF_OK else {
        unsafe rd_kafka_conf_destroy(settings)
        // librdkafka's own text quotes the value, which may be a secret.
        throw KafkaError(.configuration, "librdkafka refuses the setting \(name) or its value")
      }
    }
    var events = RD_KAFKA_EVENT_ERROR | RD_KAFKA_EVENT_LOG
    switch role {
    case .consumer: events |= RD_KAFKA_EVENT_FETCH
    case .producer: events |= RD_KAFKA_EVENT_DR
    case .admin: break
    }
    unsafe rd_kafka_conf_set_events(settings, events)
    return unsafe settings
  }

  /// Has librdkafka look at once what is to be asked of each broker. By itself it looks, where partitions were resumed or
  /// their records were taken from a full queue, when something comes from that broker, or after a second. Nothing is meant for that; to be told the credentials again wakes it, and changes
  /// nothing.
  func wakeBrokers() {
    if let error = unsafe rd_kafka_sasl_set_credentials(pointer, credentials.user, credentials.password) {
      unsafe rd_kafka_error_destroy(error)
    }
  }

  /// Hands a log event on; false when it is another kind of event.
  func takeLog(_ event: OpaquePointer) -> Bool {
    guard unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_LOG else { return false }
    var facility: UnsafePointer<CChar>?
    var text: UnsafePointer<CChar>?
    var level: Int32 = 0
    if let log, unsafe rd_kafka_event_log(event, &facility, &text, &level) == 0, let facility = unsafe facility,
      let text = unsafe text
    {
      unsafe log(KafkaLogLine(level: Int(level), facility: String(cString: facility), text: String(cString: text)))
    }
    return true
  }

  /// An error event's error; the text of a fatal one is the first cause, not "fatal error".
  func error(of event: OpaquePointer) -> KafkaError {
    if unsafe rd_kafka_event_error_is_fatal(event) != 0 {
      var reason = [CChar](repeating: 0, count: 512)
      let code = unsafe rd_kafka_fatal_error(pointer, &reason, reason.count)
      return KafkaError(code: code, message: ClientHandle.text(reason), isFatal: true)
    }
    var partition: KafkaTopicPartition?
    if let entry = unsafe rd_kafka_event_topic_partition(event) {
      partition = unsafe KafkaTopicPartition(
        topic: String(cString: entry.pointee.topic), partition: entry.pointee.partition)
      unsafe rd_kafka_topic_partition_destroy(entry)
    }
    let message = unsafe rd_kafka_event_error_string(event).map { unsafe String(cString: $0) }
    return unsafe KafkaError(code: rd_kafka_event_error(event), message: message, partition: partition)
  }

  /// The number of partitions that the brokers tell, waiting at most the given time.
  func partitionCount(of topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> Int32 {
    try shape(of: topic, timeoutMilliseconds: timeoutMilliseconds).partitionCount
  }

  /// How a topic lies on the brokers, which are waited for at most the given time.
  func shape(of topic: String, timeoutMilliseconds: Int32) throws(KafkaError) -> KafkaTopicShape {
    guard let handle = unsafe rd_kafka_topic_new(pointer, topic, nil) else {
      throw KafkaError(code: rd_kafka_last_error())
    }
    defer { unsafe rd_kafka_topic_destroy(handle) }
    var metadata: UnsafePointer<rd_kafka_metadata>?
    try unsafe KafkaError.check(rd_kafka_metadata(pointer, 0, handle, &metadata, timeoutMilliseconds))
    guard let metadata = unsafe metadata else { throw KafkaError(.other, "no metadata for \(topic)") }
    defer { unsafe rd_kafka_metadata_destroy(metadata) }
    guard unsafe metadata.pointee.topic_cnt == 1, let answer = unsafe metadata.pointee.topics else {
      throw KafkaError(.unknownTopic, "the brokers know no topic \(topic)")
    }
    try unsafe KafkaError.check(answer.pointee.err)
    guard unsafe answer.pointee.partition_cnt > 0 else {
      throw KafkaError(.unknownTopic, "the brokers know no partition of \(topic)", isRetriable: true)
    }
    return unsafe KafkaTopicShape(
      partitionCount: answer.pointee.partition_cnt, copyCount: answer.pointee.partitions?.pointee.replica_cnt ?? 1)
  }

  /// The same of several topics, whose leaders are known to librdkafka then. Each is asked for by itself: in a question
  /// for several, 2.0.2 may let the brokers make those that are missing.
  func partitionCounts(of topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) -> [String: Int32] {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var counts: [String: Int32] = [:]
    for topic in Set(topics) {
      counts[topic] = try partitionCount(of: topic, timeoutMilliseconds: max(deadline.remainingMilliseconds, 1))
    }
    return counts
  }

  /// Asks for the leaders of all topics that were used with this client, in one question, and lets librdkafka know
  /// them; without an answer it asks by itself some time.
  func learnLeaders(timeoutMilliseconds: Int32) {
    var metadata: UnsafePointer<rd_kafka_metadata>?
    _ = unsafe rd_kafka_metadata(pointer, 0, nil, &metadata, timeoutMilliseconds)
    if let metadata = unsafe metadata { unsafe rd_kafka_metadata_destroy(metadata) }
  }

  /// The offsets of different partitions at a logical time, `KafkaTopicPartitionOffset.beginning` or `.end`.
  ///
  /// `rd_kafka_query_watermark_offsets` ignores its timeout in 2.0.2; the same question asked as a time stamp keeps it.
  func offsets(
    of partitions: [KafkaTopicPartition], at time: Int64, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [Int64] {
    let list = TopicPartitionList(partitions.map { KafkaTopicPartitionOffset($0, offset: time) })
    try unsafe KafkaError.check(
      list.withPointer { unsafe rd_kafka_offsets_for_times(pointer, $0, max(timeoutMilliseconds, 1)) })
    if let error = list.firstError { throw error }
    return partitions.map { list.offset(of: $0) ?? -1 }
  }

  /// The end of a partition's log as the last records that were fetched of it told; nil where none were.
  func lastKnownEnd(of partition: KafkaTopicPartition) -> Int64? {
    var first: Int64 = -1
    var end: Int64 = -1
    let code = unsafe rd_kafka_get_watermark_offsets(pointer, partition.topic, partition.partition, &first, &end)
    return code == RD_KAFKA_RESP_ERR_NO_ERROR && end >= 0 ? end : nil
  }

  /// Ends the client on a thread of its own and waits for that at most the given time; false when it still goes on.
  func destroy(timeoutMilliseconds: Int32) -> Bool {
    let end = OwnerThread("kafka-end") { [self] in
      unsafe rd_kafka_queue_destroy(queue)
      unsafe rd_kafka_destroy_flags(pointer, RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE)
    }
    return end.join(timeoutMilliseconds: Int(timeoutMilliseconds))
  }

  private static func text(_ buffer: [CChar]) -> String {
    String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
