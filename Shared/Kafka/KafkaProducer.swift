internal import CLibrdkafka
package import Records
internal import Threads

/// What became of one record.
package struct KafkaDeliveryReport: Equatable, Sendable {
  /// The number given to `send`.
  package let reportID: UInt64
  /// The record's offset; -1 with an error.
  package let offset: Int64
  /// Nil: the record is in the log. Otherwise the producer has failed.
  package let error: KafkaError?
}

/// Writes records, idempotently and in order per partition, from any thread.
///
/// The traps it avoids: `rd_kafka_produceva` of 2.0.2 frees headers twice when the partition does not exist, so every
/// partition is checked against the topic's count and headers are an object of our own; the first record of an unknown
/// topic is up to a second late, hence `warmUp`; the owner thread takes delivery reports always, also while flushing,
/// or the flush could not end; credit is our own, so librdkafka's queue is never full and nobody sleeps on it. 2.0.2
/// may give up on records after a broker's fault (fatal "sequence desynchronization"): any report but success fails
/// the producer, and its owner builds a new one and sends again what is not reported.
///
/// It must be ended by `close` or `abort`.
package final class KafkaProducer: Sendable {
  private let client: ClientHandle
  private let state: Monitor<ProducerState>
  private let reports: @Sendable ([KafkaDeliveryReport]) -> Void
  private let failed: @Sendable (KafkaError) -> Void
  private let isExpendable: @Sendable (UInt64) -> Bool
  private let recordsInFlightMaximum: Int
  private let bytesInFlightMaximum: Int

  /// `reports` gets batches of reports, and `failed` the first error, once; both on the producer's own thread, where
  /// they must neither block for long nor call `close`. `isExpendable` says for a report's number that nobody relies on
  /// that record: it alone is lost when its topic is not there, closed to us, or refuses it.
  package init(
    configuration: KafkaConfiguration, failed: @escaping @Sendable (KafkaError) -> Void = { _ in },
    isExpendable: @escaping @Sendable (UInt64) -> Bool = { _ in false },
    reports: @escaping @Sendable ([KafkaDeliveryReport]) -> Void
  ) throws(KafkaError) {
    client = try ClientHandle(configuration, role: .producer)
    state = Monitor(ProducerState())
    self.reports = reports
    self.failed = failed
    self.isExpendable = isExpendable
    recordsInFlightMaximum = max(configuration.recordsInFlightMaximum, 1)
    bytesInFlightMaximum = max(configuration.bytesInFlightMaximum, 1)
    _ = OwnerThread("kafka-producer") { [self] in serve() }
  }

  /// A producer that knows the partitions of `topics`; where they are not to be seen in time there is none.
  package convenience init(
    configuration: KafkaConfiguration, topics: [String], timeoutMilliseconds: Int32,
    failed: @escaping @Sendable (KafkaError) -> Void = { _ in },
    isExpendable: @escaping @Sendable (UInt64) -> Bool = { _ in false },
    reports: @escaping @Sendable ([KafkaDeliveryReport]) -> Void = { _ in }
  ) throws(KafkaError) {
    try self.init(configuration: configuration, failed: failed, isExpendable: isExpendable, reports: reports)
    do throws(KafkaError) { try warmUp(topics: topics, timeoutMilliseconds: timeoutMilliseconds) } catch {
      abort()
      throw error
    }
  }

  /// The error that failed the producer, if any.
  package var failure: KafkaError? { state.withLock { $0.failure } }
  /// Records sent and not yet reported.
  package var recordsInFlight: Int { state.withLock { $0.records } }

  /// Fetches the topics' partition counts, and makes librdkafka know the topics before the first record.
  package func warmUp(topics: [String], timeoutMilliseconds: Int32) throws(KafkaError) {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    for topic in topics { try refresh(topic, timeoutMilliseconds: deadline.remainingMilliseconds) }
  }

  /// The number of partitions of a topic that was warmed up or sent to.
  package func partitionCount(topic: String) -> Int32? {
    state.withLock { $0.topics[topic]?.partitionCount }
  }

  /// Queues one record; returns at once while there is credit, else waits for it at most `timeoutMilliseconds`.
  ///
  /// A nil `value` is a tombstone. `timestampMilliseconds` nil is now. Throws `noCredit`, `unknownTopic`,
  /// `unknownPartition`, `recordRefused`, `producerFailed`, `closed`; the record is not queued then.
  package func send(
    topic: String, partition: Int32, key: UnsafeRawBufferPointer?, value: UnsafeRawBufferPointer?,
    headers: [RecordHeader] = [], timestampMilliseconds: Int64? = nil, reportID: UInt64,
    timeoutMilliseconds: Int = 10_000
  ) throws(KafkaError) {
    let record = unsafe OutgoingRecord(
      partition: partition, key: key, value: value, headers: headers, timestampMilliseconds: timestampMilliseconds,
      reportID: reportID)
    guard try !queue(record, topic: topic, timeoutMilliseconds: timeoutMilliseconds) else { return }
    // An unknown topic, or one that has grown.
    try refresh(topic, timeoutMilliseconds: Int32(clamping: timeoutMilliseconds))
    guard try !queue(record, topic: topic, timeoutMilliseconds: timeoutMilliseconds) else { return }
    throw KafkaError(
      .unknownPartition, "the topic has \(partitionCount(topic: topic) ?? 0) partitions",
      partition: KafkaTopicPartition(topic: topic, partition: partition))
  }

  /// The same with bytes in arrays.
  package func send(
    topic: String, partition: Int32, key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader] = [],
    timestampMilliseconds: Int64? = nil, reportID: UInt64, timeoutMilliseconds: Int = 10_000
  ) throws(KafkaError) {
    let outcome = unsafe withOptionalBytes(key) { key in
      unsafe withOptionalBytes(value) { value in
        Result { () throws(KafkaError) in
          try unsafe send(
            topic: topic, partition: partition, key: key, value: value, headers: headers,
            timestampMilliseconds: timestampMilliseconds, reportID: reportID, timeoutMilliseconds: timeoutMilliseconds)
        }
      }
    }
    try outcome.get()
  }

  /// False when the topic's partition is not known.
  private func queue(_ record: OutgoingRecord, topic: String, timeoutMilliseconds: Int) throws(KafkaError) -> Bool {
    let size = record.size
    let isQueued = try state.waitForResult(timeoutMilliseconds: timeoutMilliseconds) {
      (state) throws(KafkaError) -> Bool? in
      // A record larger than the whole limit goes alone.
      let hasRoom = state.records < recordsInFlightMaximum && state.bytes <= bytesInFlightMaximum - size
      guard hasRoom || state.records == 0 || !state.takesRecords else { return nil }
      if let failure = state.failure {
        throw KafkaError(.producerFailed, "the producer has failed: \(failure)")
      }
      guard state.takesRecords else { throw .closed }
      guard let known = state.topics[topic], (0..<known.partitionCount).contains(record.partition) else {
        return false
      }
      if let error = unsafe record.produce(client.pointer, topic: known.handle) { throw error }
      state.records += 1
      state.bytes += size
      return true
    }
    guard let isQueued else {
      throw KafkaError(.noCredit, "too much is in flight, for \(timeoutMilliseconds) ms", isRetriable: true)
    }
    return isQueued
  }

  private func refresh(_ topic: String, timeoutMilliseconds: Int32) throws(KafkaError) {
    let now = MonotonicClock.milliseconds
    let isDue = try state.withLock { (state) throws(KafkaError) -> Bool in
      guard state.takesRecords else { throw state.failure == nil ? .closed : KafkaError(.producerFailed, "failed") }
      if let missed = state.missed[topic], now - missed.at < ProducerState.refreshMilliseconds { throw missed.error }
      if let asked = state.asked[topic], now - asked < ProducerState.refreshMilliseconds, state.topics[topic] != nil {
        return false
      }
      state.asked[topic] = now
      state.metadataCalls += 1
      return true
    }
    guard isDue else { return }
    // Outside the lock, so that others go on sending; the owner thread waits for the call before it ends the client.
    defer { state.update { $0.metadataCalls -= 1 } }
    let count: Int32
    do throws(KafkaError) {
      count = try client.partitionCount(of: topic, timeoutMilliseconds: max(timeoutMilliseconds, 1))
    } catch {
      state.withLock { $0.missed[topic] = (MonotonicClock.milliseconds, error) }
      throw error
    }
    try state.withLock { (state) throws(KafkaError) in
      state.missed[topic] = nil
      if state.topics[topic] == nil {
        guard let handle = unsafe rd_kafka_topic_new(client.pointer, topic, nil) else {
          throw KafkaError(code: rd_kafka_last_error())
        }
        state.topics[topic] = unsafe ProducerState.Topic(handle: handle, partitionCount: count)
      } else {
        state.topics[topic]?.partitionCount = count
      }
    }
  }

  /// Waits until all records are reported, at most the given time, and ends the producer; false when some were not.
  ///
  /// - Parameter waitsForEnd: false where the process ends: then the client ends by itself meanwhile.
  @discardableResult
  package func close(timeoutMilliseconds: Int32, waitsForEnd: Bool = true) -> Bool {
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    guard beginClosing() else { return recordsInFlight == 0 }
    // Starts what lingers; the owner thread takes the reports meanwhile.
    unsafe rd_kafka_flush(client.pointer, deadline.remainingMilliseconds)
    let isDelivered = state.wait(timeoutMilliseconds: Int(deadline.remainingMilliseconds)) { $0.records == 0 }
    if !isDelivered { purge() }
    end()
    guard waitsForEnd else { return isDelivered }
    let wait = Int(max(deadline.remainingMilliseconds, 100))
    _ = state.wait(timeoutMilliseconds: wait) { $0.isEnded }
    return isDelivered
  }

  /// Drops what is not yet sent and ends the producer without waiting. Reports may still come, some of them `purged`.
  package func abort() {
    guard beginClosing() else { return }
    purge()
    end()
  }

  /// True for the first caller; those who wait for credit are told.
  private func beginClosing() -> Bool {
    var isFirst = false
    state.update { state in
      isFirst = !state.isClosing
      state.isClosing = true
    }
    return isFirst
  }

  private func purge() {
    unsafe rd_kafka_purge(
      client.pointer, Int32(RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT | RD_KAFKA_PURGE_F_NON_BLOCKING))
  }

  private func end() {
    // Woken before it is told, the owner thread would sleep again; woken after that, it may have freed the queue.
    state.update { state in
      state.isEnding = true
      unsafe rd_kafka_queue_yield(client.queue)
    }
  }
}

// The owner thread.
extension KafkaProducer {
  private static let pollMilliseconds: Int32 = 100

  private func serve() {
    while !state.withLock({ $0.isEnding }) {
      guard let event = unsafe rd_kafka_queue_poll(client.queue, KafkaProducer.pollMilliseconds) else { continue }
      unsafe take(event)
    }
    while let event = unsafe rd_kafka_queue_poll(client.queue, 0) {
      unsafe take(event)
    }
    // A metadata call that outlasts its own timeout by so much still uses the client: better leaked than freed.
    if state.wait(timeoutMilliseconds: 60_000, until: { $0.metadataCalls == 0 }) {
      state.update { state in
        for topic in state.topics.values { unsafe rd_kafka_topic_destroy(topic.handle) }
        state.topics.removeAll()
      }
      _ = client.destroy(timeoutMilliseconds: 60_000)
    }
    state.update { $0.isEnded = true }
  }

  /// Serves an event and destroys it.
  private func take(_ event: OpaquePointer) {
    guard unsafe rd_kafka_event_type(event) != RD_KAFKA_EVENT_DR else { return unsafe takeReports(event) }
    defer { unsafe rd_kafka_event_destroy(event) }
    switch unsafe rd_kafka_event_type(event) {
    case RD_KAFKA_EVENT_ERROR:
      // Others (a broker is away) are librdkafka's to overcome: no record times out.
      if unsafe rd_kafka_event_error_is_fatal(event) != 0 { unsafe fail(client.error(of: event)) }
    default: _ = unsafe client.takeLog(event)
    }
  }

  private func takeReports(_ event: OpaquePointer) {
    var batch: [KafkaDeliveryReport] = []
    unsafe batch.reserveCapacity(rd_kafka_event_message_count(event))
    var bytes = 0
    var firstError: KafkaError?
    while let record = unsafe rd_kafka_event_message_next(event) {
      let message = unsafe record.pointee
      unsafe bytes += OutgoingRecord.takenBytes(record)
      let error = unsafe message.err == RD_KAFKA_RESP_ERR_NO_ERROR ? nil : KafkaError(code: message.err)
      let reportID = unsafe UInt64(UInt(bitPattern: message._private))
      if let error, !(error.concernsRecordAlone && isExpendable(reportID)) { firstError = firstError ?? error }
      unsafe batch.append(
        KafkaDeliveryReport(reportID: reportID, offset: error == nil ? message.offset : -1, error: error))
    }
    // Failed before the reports are told, so that nobody who hears of a hole can still send behind it.
    if let firstError { fail(firstError) }
    let count = batch.count
    // librdkafka counts the records as queued until the event is gone: credit comes back only then.
    unsafe rd_kafka_event_destroy(event)
    state.update { state in
      state.records -= count
      state.bytes -= bytes
    }
    reports(batch)
  }

  private func fail(_ error: KafkaError) {
    let isFirst = state.withLock { state in
      guard state.failure == nil, error.kind != .purged else { return false }
      state.failure = error
      return true
    }
    guard isFirst else { return }
    state.update { _ in }
    failed(error)
  }
}
