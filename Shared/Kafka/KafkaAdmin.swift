internal import CLibrdkafka
internal import Threads

/// A topic as it should be.
package struct KafkaTopicSpecification: Equatable, Sendable {
  package let name: String
  package let partitionCount: Int32
  /// -1: the broker's default.
  package let replicationFactor: Int32
  /// Kafka's names (`message.timestamp.type`), set when the topic is made.
  package let settings: [String: String]

  package init(name: String, partitionCount: Int32, replicationFactor: Int32 = -1, settings: [String: String] = [:]) {
    self.name = name
    self.partitionCount = partitionCount
    self.replicationFactor = replicationFactor
    self.settings = settings
  }
}

/// How a topic lies on the brokers.
package struct KafkaTopicShape: Equatable, Sendable {
  package let partitionCount: Int32
  /// Of its first partition.
  package let copyCount: Int32
}

/// What `KafkaAdmin.ensure` found or did.
package enum KafkaTopicOutcome: Equatable, Sendable {
  case created
  /// It was there, with this many partitions, which may be more than asked for (counts only grow).
  case existed(partitionCount: Int32)
  case grown(from: Int32, to: Int32)
}

/// Makes and describes topics on a real Kafka; used by one thread. The embedded broker knows no such requests: its
/// process makes topics (`EmbeddedBrokerControl`). Results come as events on a queue of each call's own; what librdkafka
/// allocates for a call is freed at its end.
package final class KafkaAdmin {
  let client: ClientHandle
  private var isClosed = false

  package init(configuration: KafkaConfiguration) throws(KafkaError) {
    client = try ClientHandle(configuration, role: .admin)
  }

  deinit { if !isClosed { _ = client.destroy(timeoutMilliseconds: 0) } }

  /// Makes the topic unless it is there, and gives it more partitions if it has fewer. Its settings are not changed
  /// when it exists. Returns when the partitions can be seen.
  @discardableResult
  package func ensure(
    _ topic: KafkaTopicSpecification, timeoutMilliseconds: Int32 = 30_000
  ) throws(KafkaError) -> KafkaTopicOutcome {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    do {
      try create(topic, deadline)
      try awaitPartitions(topic, deadline)
      return .created
    } catch  where error.kind == .alreadyExists {
      let count = try partitionCount(topic: topic.name, timeoutMilliseconds: deadline.remainingMilliseconds)
      guard count < topic.partitionCount else { return .existed(partitionCount: count) }
      try grow(topic, deadline)
      try awaitPartitions(topic, deadline)
      return .grown(from: count, to: topic.partitionCount)
    }
  }

  /// The number of partitions; throws `unknownTopic`.
  package func partitionCount(topic: String, timeoutMilliseconds: Int32 = 10_000) throws(KafkaError) -> Int32 {
    try shape(topic: topic, timeoutMilliseconds: timeoutMilliseconds).partitionCount
  }

  /// The number of partitions, and of copies; throws `unknownTopic`.
  package func shape(topic: String, timeoutMilliseconds: Int32 = 10_000) throws(KafkaError) -> KafkaTopicShape {
    guard !isClosed else { throw .closed }
    do {
      defer { serveLog() }
      return try client.shape(of: topic, timeoutMilliseconds: max(timeoutMilliseconds, 1))
    } catch {
      throw refusal ?? error
    }
  }

  /// Of a wrong password a question tells only that its time ran out: that it is wrong came as an event before.
  private var refusal: KafkaError?

  // What follows is for tests and faults, where somebody else does it to a network; it stands here for the sake of librdkafka's
  // pointers, which nobody else has.

  /// Deletes a topic with all its records; throws `unknownTopic`.
  package func delete(topic: String, timeoutMilliseconds: Int32 = 30_000) throws(KafkaError) {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var request = unsafe rd_kafka_DeleteTopic_new(topic)
    defer { unsafe rd_kafka_DeleteTopic_destroy(request) }
    try unsafe perform(RD_KAFKA_ADMIN_OP_DELETETOPICS, resultType: RD_KAFKA_EVENT_DELETETOPICS_RESULT, deadline) {
      unsafe rd_kafka_DeleteTopics(client.pointer, &request, 1, $0, $1)
    } read: { event in
      var count = 0
      return unsafe KafkaAdmin.firstError(rd_kafka_DeleteTopics_result_topics(event, &count), count)
    }
  }

  /// Removes the records below an offset, as retention would.
  package func deleteRecords(
    topic: String, partition: Int32, before offset: Int64, timeoutMilliseconds: Int32 = 30_000
  ) throws(KafkaError) {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    let position = KafkaTopicPartitionOffset(topic: topic, partition: partition, offset: offset)
    var request = unsafe TopicPartitionList([position]).withPointer { unsafe rd_kafka_DeleteRecords_new($0) }
    defer { unsafe rd_kafka_DeleteRecords_destroy(request) }
    try unsafe perform(RD_KAFKA_ADMIN_OP_DELETERECORDS, resultType: RD_KAFKA_EVENT_DELETERECORDS_RESULT, deadline) {
      unsafe rd_kafka_DeleteRecords(client.pointer, &request, 1, $0, $1)
    } read: { event in
      guard let list = unsafe rd_kafka_DeleteRecords_result_offsets(event), unsafe list.pointee.cnt > 0 else {
        return nil
      }
      let code = unsafe list.pointee.elems[0].err
      return code == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code: code, partition: position.partition)
    }
  }

  /// Ends the client within about the given time.
  package func close(timeoutMilliseconds: Int32 = 5_000) {
    guard !isClosed else { return }
    isClosed = true
    _ = client.destroy(timeoutMilliseconds: timeoutMilliseconds)
  }

  private func create(_ topic: KafkaTopicSpecification, _ deadline: Deadline) throws(KafkaError) {
    var reason = [CChar](repeating: 0, count: 256)
    var request = unsafe rd_kafka_NewTopic_new(
      topic.name, topic.partitionCount, topic.replicationFactor, &reason, reason.count)
    guard unsafe request != nil else {
      throw KafkaError(.configuration, "librdkafka refuses the name, partitions or replication of \(topic.name)")
    }
    defer { unsafe rd_kafka_NewTopic_destroy(request) }
    for (name, value) in topic.settings.sorted(by: { $0.key < $1.key }) {
      try unsafe KafkaError.check(rd_kafka_NewTopic_set_config(request, name, value))
    }
    try unsafe perform(RD_KAFKA_ADMIN_OP_CREATETOPICS, resultType: RD_KAFKA_EVENT_CREATETOPICS_RESULT, deadline) {
      unsafe rd_kafka_CreateTopics(client.pointer, &request, 1, $0, $1)
    } read: { event in
      var count = 0
      return unsafe KafkaAdmin.firstError(rd_kafka_CreateTopics_result_topics(event, &count), count)
    }
  }

  private func grow(_ topic: KafkaTopicSpecification, _ deadline: Deadline) throws(KafkaError) {
    var reason = [CChar](repeating: 0, count: 256)
    var request = unsafe rd_kafka_NewPartitions_new(topic.name, Int(topic.partitionCount), &reason, reason.count)
    guard unsafe request != nil else { throw KafkaError(.configuration, "librdkafka refuses to grow \(topic.name)") }
    defer { unsafe rd_kafka_NewPartitions_destroy(request) }
    try unsafe perform(RD_KAFKA_ADMIN_OP_CREATEPARTITIONS, resultType: RD_KAFKA_EVENT_CREATEPARTITIONS_RESULT, deadline)
    {
      unsafe rd_kafka_CreatePartitions(client.pointer, &request, 1, $0, $1)
    } read: { event in
      var count = 0
      return unsafe KafkaAdmin.firstError(rd_kafka_CreatePartitions_result_topics(event, &count), count)
    }
  }

  /// Sends one request and waits for its result.
  func perform(
    _ operation: rd_kafka_admin_op_t, resultType: Int32, _ deadline: Deadline,
    start: (_ options: OpaquePointer?, _ queue: OpaquePointer?) -> Void,
    read: (_ result: OpaquePointer) -> KafkaError?
  ) throws(KafkaError) {
    guard !isClosed else { throw .closed }
    let options = unsafe rd_kafka_AdminOptions_new(client.pointer, operation)
    defer { unsafe rd_kafka_AdminOptions_destroy(options) }
    let wait = max(deadline.remainingMilliseconds, 1)
    try unsafe KafkaError.check(rd_kafka_AdminOptions_set_request_timeout(options, wait, nil, 0))
    // Settings and access rules are the answering broker's own affair: there is no operation to wait for.
    if Self.awaited.contains(operation.rawValue) {
      try unsafe KafkaError.check(rd_kafka_AdminOptions_set_operation_timeout(options, wait, nil, 0))
    }
    let queue = unsafe rd_kafka_queue_new(client.pointer)
    defer { unsafe rd_kafka_queue_destroy(queue) }
    unsafe start(options, queue)
    defer { serveLog() }
    // The request's own timeout ends it; the margin lets librdkafka say so itself.
    guard let event = unsafe rd_kafka_queue_poll(queue, wait + 1_000) else {
      throw KafkaError(.timedOut, "no answer in time", isRetriable: true)
    }
    defer { unsafe rd_kafka_event_destroy(event) }
    guard unsafe rd_kafka_event_type(event) == resultType else { throw KafkaError(.other, "an unexpected answer") }
    let code = unsafe rd_kafka_event_error(event)
    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
      throw unsafe KafkaError(
        code: code, message: rd_kafka_event_error_string(event).map { unsafe String(cString: $0) })
    }
    if let error = unsafe read(event) { throw error }
  }

  /// Operations that the brokers go on with after they were begun.
  private static let awaited: Set<UInt32> = [
    RD_KAFKA_ADMIN_OP_CREATETOPICS.rawValue, RD_KAFKA_ADMIN_OP_DELETETOPICS.rawValue,
    RD_KAFKA_ADMIN_OP_CREATEPARTITIONS.rawValue, RD_KAFKA_ADMIN_OP_DELETERECORDS.rawValue,
  ]

  private static func firstError(
    _ results: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int
  ) -> KafkaError? {
    for index in 0..<count {
      let code = unsafe rd_kafka_topic_result_error(results?[index])
      guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
      return unsafe KafkaError(
        code: code, message: rd_kafka_topic_result_error_string(results?[index]).map { unsafe String(cString: $0) })
    }
    return nil
  }

  /// The controller answers before every broker knows: asks until the count is there.
  private func awaitPartitions(_ topic: KafkaTopicSpecification, _ deadline: Deadline) throws(KafkaError) {
    while true {
      do {
        let wait = max(deadline.remainingMilliseconds, 1)
        if try client.partitionCount(of: topic.name, timeoutMilliseconds: wait) >= topic.partitionCount { return }
      } catch  where error.kind != .unknownTopic && !error.isRetriable {
        throw error
      } catch {}
      guard !deadline.isOver else { throw KafkaError(.timedOut, "\(topic.name) is not visible yet", isRetriable: true) }
      serveLog(timeoutMilliseconds: 20)
    }
  }

  private func serveLog(timeoutMilliseconds: Int32 = 0) {
    while let event = unsafe rd_kafka_queue_poll(client.queue, timeoutMilliseconds) {
      if unsafe !client.takeLog(event), unsafe rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR {
        let error = unsafe KafkaError(code: rd_kafka_event_error(event))
        if error.kind == .notAuthorized { refusal = error }
      }
      unsafe rd_kafka_event_destroy(event)
      if timeoutMilliseconds > 0 { return }
    }
  }
}
