internal import CLibrdkafka
internal import Foundation
internal import Threads

/// Something that happened to a consumer besides records.
package enum KafkaConsumerEvent: Equatable, Sendable {
  /// The log's end was reached; `offset` is the next record's.
  case endReached(topicIndex: Int, partition: Int32, offset: Int64)
  /// Fatal: close and build a new consumer. `offsetOutOfRange` names its partition, which is not read further.
  case error(KafkaError)
}

/// Reads topics on one owner thread (not `Sendable`; only its `waker` is).
///
/// It never joins a group: who reads what is decided elsewhere, and a group's sessions take long to end and stop
/// everybody for one that comes or goes.
///
/// The traps it avoids: events on one queue, never `consume_batch`, which skips offsets in 2.0.2; positions are given
/// with the assignment, never by seek (its timeout is wrong by a thousand); only what was paused is resumed (else old
/// records come again); `close` is bounded, because librdkafka's can hang.
@safe package final class KafkaConsumer {
  /// The topics by their index in records and events: those given at the start, then those assigned by hand.
  package private(set) var topics: [String]
  /// Ends a blocked `poll` from any thread.
  package let waker: KafkaWaker

  private let client: ClientHandle
  private let groupID: String?
  private var topicIndexes: [String: Int] = [:]
  // librdkafka's topic handles live as long as the assignment, so the cache is emptied with it.
  private var handleIndexes: [(handle: OpaquePointer, index: Int)] = unsafe []
  private var paused: Set<KafkaTopicPartition> = []
  /// Topics whose leaders were asked for.
  private var knownTopics: Set<String> = []
  private var isClosed = false
  /// More may be there than librdkafka has asked for: so much came at once that its queue may have been full, or a
  /// partition was resumed.
  private var isBehind = false
  /// After an assignment librdkafka sometimes looks a second later only (2.0.2, where others were given up just before). So
  /// it is reminded some times, each time after twice as long; nil when that is enough.
  private var reminder: Deadline?
  private var reminderMilliseconds: Int32 = 0
  private let queuedRecordsMaximum: Int

  private static let leadersMilliseconds: Int32 = 1_000
  /// After how long it is reminded first, and at most how long after the reminder before.
  private static let reminderMilliseconds: ClosedRange<Int32> = 5...500
  /// Values of so many bytes at once may have filled librdkafka's queue, few as they are.
  private static let muchBytes = 1 << 20
  /// The most events of one `poll`.
  package static let eventsMaximum = 1_000

  /// Reads nothing until `assign`.
  ///
  /// - Parameters:
  ///   - groupID: the name under which positions are committed for lag tools; nil where none are.
  ///   - topics: to which records and events refer by their index here; more come with `assign`.
  package init(configuration: KafkaConfiguration, groupID: String?, topics: [String]) throws(KafkaError) {
    let client = try ClientHandle(configuration, role: .consumer(groupID: groupID))
    self.client = client
    self.groupID = groupID
    self.topics = topics
    waker = KafkaWaker(client)
    queuedRecordsMaximum = configuration.consumerQueueRecordsMaximum
    for (index, topic) in topics.enumerated() { topicIndexes[topic] = index }
  }

  deinit { abandon() }

  /// Waits at most `timeoutMilliseconds` for something to happen, then takes what is there without waiting, up to
  /// `recordsMaximum` records (at least 1); each is handed to `receive` and valid only there.
  ///
  /// The events come in their order; of `endReached` the offset tells which records lie before it. An empty result
  /// without records: the time ran out or the waker was used.
  package func poll(
    timeoutMilliseconds: Int32, recordsMaximum: Int, bytesMaximum: Int = .max,
    receive: (borrowing KafkaRecordView) -> Void
  ) throws(KafkaError) -> [KafkaConsumerEvent] {
    guard !isClosed else { throw .closed }
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    var events: [KafkaConsumerEvent] = []
    var records = 0
    var bytes = 0
    // Of librdkafka's queue, in which ends of logs and its own words count as much as records.
    var (taken, words) = (0, 0)
    while records < max(recordsMaximum, 1), bytes < bytesMaximum, events.count < KafkaConsumer.eventsMaximum {
      let isEmptyHanded = records == 0 && events.isEmpty
      if isEmptyHanded, words >= queuedRecordsMaximum / 2 {
        readAhead(isMuch: true)
        words = 0
      }
      let wait = isEmptyHanded ? deadline.remainingMilliseconds : 0
      guard let event = unsafe next(withinMilliseconds: wait) else { break }
      defer { unsafe rd_kafka_event_destroy(event) }
      switch unsafe rd_kafka_event_type(event) {
      case RD_KAFKA_EVENT_FETCH:
        taken += unsafe rd_kafka_event_message_count(event)
        while let message = unsafe rd_kafka_event_message_next(event) {
          if unsafe message.pointee.err == RD_KAFKA_RESP_ERR_NO_ERROR {
            records += 1
            let record = unsafe KafkaRecordView(message, topicIndex: topicIndex(of: message.pointee.rkt))
            receive(record)
            bytes += record.byteCount
          } else if let error = unsafe consumerEvent(of: message.pointee) {
            events.append(error)
          }
        }
      case RD_KAFKA_EVENT_ERROR:
        taken += 1
        if let error = unsafe errorEvent(event) { events.append(error) }
      default: words += unsafe client.takeLog(event) ? 1 : 0
      }
    }
    readAhead(isMuch: taken >= min(recordsMaximum, queuedRecordsMaximum / 2) || bytes >= KafkaConsumer.muchBytes)
    return events
  }

  /// The next event of librdkafka's queue; nil when there is none in time, or the waker was used.
  private func next(withinMilliseconds milliseconds: Int32) -> OpaquePointer? {
    let deadline = Deadline(afterMilliseconds: milliseconds)
    while true {
      remind()
      let wait = min(deadline.remainingMilliseconds, reminder?.remainingMilliseconds ?? .max)
      if let event = unsafe rd_kafka_queue_poll(client.queue, wait) { return unsafe event }
      // It does not say which of the two ended it.
      guard reminder?.isOver ?? false, !deadline.isOver, !waker.takeUse() else { return nil }
    }
  }

  private func remind() {
    guard let due = reminder, due.isOver else { return }
    client.wakeBrokers()
    planReminder(afterMilliseconds: reminderMilliseconds * 2)
  }

  private func planReminder(afterMilliseconds milliseconds: Int32) {
    reminderMilliseconds = milliseconds
    reminder =
      KafkaConsumer.reminderMilliseconds.contains(milliseconds) ? Deadline(afterMilliseconds: milliseconds) : nil
  }

  /// Sees to it that librdkafka asks for more while there is still something to do, once its queue is half empty.
  private func readAhead(isMuch: Bool) {
    isBehind = isBehind || isMuch
    guard isBehind, unsafe rd_kafka_queue_length(client.queue) < queuedRecordsMaximum / 2 else { return }
    client.wakeBrokers()
    isBehind = isMuch
  }

  /// Reads these partitions, each from its offset, instead of all earlier ones.
  package func assign(_ positions: [KafkaTopicPartitionOffset]) throws(KafkaError) {
    guard !isClosed else { throw .closed }
    try resumeAll()
    for position in positions where topicIndexes[position.partition.topic] == nil {
      topicIndexes[position.partition.topic] = topics.count
      topics.append(position.partition.topic)
    }
    unsafe handleIndexes.removeAll()
    awaitStops()
    try unsafe KafkaError.check(
      TopicPartitionList(positions).withPointer { unsafe rd_kafka_assign(client.pointer, $0) })
    learnLeaders(of: Set(positions.map(\.partition.topic)))
    planReminder(afterMilliseconds: KafkaConsumer.reminderMilliseconds.lowerBound)
  }

  /// Where a log begins. Assigned as a number this is read at once; asked to find the beginning itself, librdkafka rests
  /// for half a second when it does not know the leader yet.
  package func firstOffset(
    of partition: KafkaTopicPartition, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> Int64 {
    try offsets(
      of: [partition], at: KafkaTopicPartitionOffset.beginning, timeoutMilliseconds: timeoutMilliseconds)[0]
  }

  /// The offsets of these partitions, which are different ones, at a logical time: `KafkaTopicPartitionOffset.beginning`
  /// or `.end`.
  func offsets(
    of partitions: [KafkaTopicPartition], at time: Int64, timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [Int64] {
    guard !isClosed else { throw .closed }
    return try client.offsets(of: partitions, at: time, timeoutMilliseconds: timeoutMilliseconds)
  }

  /// The number of partitions of each of these topics. Whoever asks for it before `assign` reads at once then: the
  /// connection and the leaders are there.
  package func partitionCounts(
    of topics: [String], timeoutMilliseconds: Int32
  ) throws(KafkaError) -> [String: Int32] {
    guard !isClosed else { throw .closed }
    let counts = try client.partitionCounts(of: topics, timeoutMilliseconds: timeoutMilliseconds)
    knownTopics.formUnion(topics)
    return counts
  }

  /// The end of a partition's log as the last records that were fetched of it told; nil where none were.
  func lastKnownEnd(of partition: KafkaTopicPartition) -> Int64? { isClosed ? nil : client.lastKnownEnd(of: partition) }

  /// librdkafka looks for the leaders of a topic that is new to it at its next tick only, up to a second later.
  private func learnLeaders(of topics: Set<String>) {
    guard !knownTopics.isSuperset(of: topics) else { return }
    knownTopics.formUnion(topics)
    client.learnLeaders(timeoutMilliseconds: KafkaConsumer.leadersMilliseconds)
  }

  /// Reads nothing more.
  package func unassign() throws(KafkaError) {
    guard !isClosed else { throw .closed }
    try resumeAll()
    unsafe handleIndexes.removeAll()
    awaitStops()
    try unsafe KafkaError.check(rd_kafka_assign(client.pointer, nil))
  }

  /// Two assignments in close succession end the process (2.0.2 to 2.15, librdkafka's issue 5573): a partition that has not
  /// stopped yet is told to stop again, and that it was told once is an assertion. What is asked here passes through the same
  /// queue: the first question behind the orders to stop, the second behind their answers.
  private func awaitStops() {
    for _ in 0..<2 {
      var assigned: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>?
      guard unsafe rd_kafka_assignment(client.pointer, &assigned) == RD_KAFKA_RESP_ERR_NO_ERROR else { return }
      if let assigned = unsafe assigned { unsafe rd_kafka_topic_partition_list_destroy(assigned) }
    }
  }

  /// Stops the records of these partitions until `resume`; those fetched ahead are fetched again then.
  package func pause(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
    guard !isClosed else { throw .closed }
    let fresh = partitions.filter { !paused.contains($0) }
    guard !fresh.isEmpty else { return }
    let list = TopicPartitionList(fresh)
    try unsafe KafkaError.check(list.withPointer { unsafe rd_kafka_pause_partitions(client.pointer, $0) })
    if let error = list.firstError { throw error }
    paused.formUnion(fresh)
  }

  /// Goes on with those of these partitions that are paused.
  package func resume(_ partitions: [KafkaTopicPartition]) throws(KafkaError) {
    guard !isClosed else { throw .closed }
    let stopped = partitions.filter(paused.contains)
    guard !stopped.isEmpty else { return }
    paused.subtract(stopped)
    let list = TopicPartitionList(stopped)
    try unsafe KafkaError.check(list.withPointer { unsafe rd_kafka_resume_partitions(client.pointer, $0) })
    // Once now, and once more when librdkafka has done it, which it does on a thread of its own.
    client.wakeBrokers()
    isBehind = true
    if let error = list.firstError { throw error }
  }

  /// Tells the group the next offsets to read, for lag tools only and without waiting; PostgreSQL has the position.
  package func commit(offsets: [KafkaTopicPartitionOffset]) throws(KafkaError) {
    guard !isClosed else { throw .closed }
    guard groupID != nil, !offsets.isEmpty else { return }
    try unsafe KafkaError.check(
      TopicPartitionList(offsets).withPointer { unsafe rd_kafka_commit(client.pointer, $0, 1) })
  }

  /// Ends the client without waiting for that, where the process ends: no broker has to be told anything.
  package func abandon() {
    guard !isClosed else { return }
    isClosed = true
    waker.disarm()
    _ = client.destroy(timeoutMilliseconds: 0)
  }

  /// Ends the client within about the given time; false when librdkafka was not done by then
  /// (it is left to itself, and the process may exit). What is still assigned is given up: finish the batch before.
  @discardableResult
  package func close(timeoutMilliseconds: Int32) -> Bool {
    guard !isClosed else { return true }
    isClosed = true
    waker.disarm()
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    if unsafe KafkaError.consume(rd_kafka_consumer_close_queue(client.pointer, client.queue)) == nil {
      while unsafe rd_kafka_consumer_closed(client.pointer) == 0, !deadline.isOver {
        // Short waits: the end itself does not always wake the queue.
        guard let event = unsafe rd_kafka_queue_poll(client.queue, min(deadline.remainingMilliseconds, 50)) else {
          continue
        }
        _ = unsafe client.takeLog(event)
        unsafe rd_kafka_event_destroy(event)
      }
    }
    return client.destroy(timeoutMilliseconds: max(deadline.remainingMilliseconds, 100))
  }

  // A pause outlives an assignment inside librdkafka: what comes back later would stay silent.
  private func resumeAll() throws(KafkaError) {
    guard !paused.isEmpty else { return }
    let list = TopicPartitionList(paused)
    paused.removeAll()
    try unsafe KafkaError.check(list.withPointer { unsafe rd_kafka_resume_partitions(client.pointer, $0) })
  }

  private func topicIndex(of handle: OpaquePointer?) -> Int {
    guard let handle = unsafe handle else { return -1 }
    if let known = unsafe handleIndexes.first(where: { unsafe $0.handle == handle }) { return unsafe known.index }
    let index = unsafe topicIndexes[String(cString: rd_kafka_topic_name(handle))] ?? -1
    unsafe handleIndexes.append((handle, index))
    return index
  }

  private func errorEvent(_ event: OpaquePointer) -> KafkaConsumerEvent? {
    guard unsafe rd_kafka_event_error(event) == RD_KAFKA_RESP_ERR__PARTITION_EOF else {
      return unsafe reported(client.error(of: event))
    }
    guard let entry = unsafe rd_kafka_event_topic_partition(event) else { return nil }
    defer { unsafe rd_kafka_topic_partition_destroy(entry) }
    guard let index = unsafe topicIndexes[String(cString: entry.pointee.topic)] else { return nil }
    return unsafe .endReached(topicIndex: index, partition: entry.pointee.partition, offset: entry.pointee.offset)
  }

  private func consumerEvent(of message: rd_kafka_message_t) -> KafkaConsumerEvent? {
    let index = unsafe topicIndex(of: message.rkt)
    guard unsafe message.err != RD_KAFKA_RESP_ERR__PARTITION_EOF else {
      return unsafe .endReached(topicIndex: index, partition: message.partition, offset: message.offset)
    }
    let topic = topics.indices.contains(index) ? topics[index] : ""
    return unsafe reported(
      KafkaError(code: message.err, partition: KafkaTopicPartition(topic: topic, partition: message.partition)))
  }

  private func reported(_ error: KafkaError) -> KafkaConsumerEvent? {
    // Without a group nobody needs rights on one: librdkafka looks for its coordinator all the same.
    if groupID == nil, error.codeName.hasPrefix("GROUP_") { return nil }
    return .error(error)
  }
}
