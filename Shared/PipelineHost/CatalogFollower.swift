package import AdCore
package import AdEvents
package import Crypto
package import Kafka
internal import Pipeline
package import Runtime
internal import Threads

/// Reads the compacted `ads.catalog` from its beginning, all the time, on a thread of its own, and hands every message
/// on. What completeness and age mean is for the reader's state to say: the heartbeats are among the messages.
package enum CatalogFollower {
  /// What a record of the topic says.
  package enum Item: Sendable {
    case message(CatalogMessage)
    /// A tombstone: the record with this key is forgotten; its deletion was said a day before.
    case tombstone(key: String)

    /// Reads a record; one without a MAC of the network's keys is not believed.
    package static func read(_ record: borrowing KafkaRecordView, by mac: MessageMAC) -> Result<Item, Rejection> {
      var headers = RecordHeaders()
      var received = ReceivedMAC()
      record.forEachHeader {
        headers.add(name: $0, value: $1)
        received.header(name: $0, value: $1)
      }
      let mistake = received.rejection(
        by: mac, topic: Topic.catalog.name, partition: record.partition, key: record.key, value: record.value)
      if let mistake { return .failure(mistake) }
      if record.value == nil, let key = record.key {
        return .success(.tombstone(key: String(decoding: key, as: UTF8.self)))
      }
      return CatalogMessage.decode(value: record.value, headers: headers).map(Item.message)
    }
  }

  private static let pollMilliseconds: Int32 = 250
  private static let beginningMilliseconds: Int32 = 10_000
  private static let recordsMaximum = 1_000
  /// Read at once, decoded together.
  private static let bytesMaximum = 1 << 20

  /// - Parameters:
  ///   - ring: the network's keys: records without a MAC of theirs are not believed.
  ///   - handle: called with what came, in order, on the follower's thread. An empty list says that the topic's end is
  ///     reached for now: time passes.
  /// - Throws: `CryptoError` where libcrypto has no HMAC-SHA-256: fatal.
  package static func start(
    kafka: KafkaConfiguration, ring: KeyRing, context: ServiceContext, handle: @escaping @Sendable ([Item]) -> Void
  ) throws(CryptoError) {
    let logger = context.logger.named("catalog")
    let heartbeat = context.health.heartbeat("catalog")
    let stop = StopRequest()
    let waker = Locked<KafkaWaker?>(nil)
    // Each thread has its own; that there can be one is said here.
    _ = try MessageMAC(ring: ring)
    let thread = OwnerThread("catalog") {
      guard let mac = try? MessageMAC(ring: ring) else { return }
      var retry = Retry(baseMilliseconds: 100)
      while !stop.isRequested {
        do throws(KafkaError) {
          let consumer = try KafkaConsumer(configuration: kafka, groupID: nil, topics: [])
          waker.withLock { $0 = consumer.waker }
          try follow(consumer, by: mac, context: context, stop: stop) { items in
            heartbeat.beat()
            handle(items)
          }
        } catch {
          logger.limited(
            .warning, key: "catalog", "the catalogue cannot be read; it is read again from its beginning",
            ["error": .init(error.description)])
          heartbeat.beat()
          handle([])
          retry.wait(unless: stop)
        }
      }
    }
    context.lifeCycle.onStop("catalog") {
      stop.make()
      waker.withLock { $0 }?.wakeUp()
      thread.join()
    }
  }

  private static func follow(
    _ consumer: KafkaConsumer, by mac: MessageMAC, context: ServiceContext, stop: StopRequest, handle: ([Item]) -> Void
  ) throws(KafkaError) {
    let logger = context.logger.named("catalog")
    let log = KafkaTopicPartition(topic: Topic.catalog.name, partition: 0)
    defer { consumer.abandon() }
    let first = try consumer.firstOffset(of: log, timeoutMilliseconds: beginningMilliseconds)
    try consumer.assign([KafkaTopicPartitionOffset(log, offset: first)])
    while !stop.isRequested {
      var items: [Item] = []
      let events = try consumer.poll(
        timeoutMilliseconds: pollMilliseconds, recordsMaximum: recordsMaximum, bytesMaximum: bytesMaximum
      ) { record in
        if let item = read(record, by: mac, context: context, logger: logger) { items.append(item) }
      }
      handle(items)
      for case .error(let error) in events {
        if error.isFatal || error.kind == .offsetOutOfRange { throw error }
        logger.limited(.warning, key: "catalog-kafka", "Kafka reported an error", ["error": .init(error.description)])
      }
    }
  }

  private static func read(
    _ record: borrowing KafkaRecordView, by mac: MessageMAC, context: ServiceContext, logger: Logger
  ) -> Item? {
    switch Item.read(record, by: mac) {
    case .success(let item):
      return item
    case .failure(let rejection):
      // Only the console writes here; a reader that skips what it cannot read stays incomplete and says so.
      context.metrics.counter(
        HostMetrics.records, ["outcome": "rejected", "reason": "\(rejection.reason)"]
      ).add()
      logger.limited(
        .error, key: "catalog-record", "a record of the catalogue cannot be read, or is not to be believed",
        ["offset": .init(Int(record.offset)), "reason": .init(rejection.detail)])
      return nil
    }
  }
}
