package import AdCore
internal import AdEvents
package import Crypto
package import Kafka
internal import Pipeline
package import Postgres
package import Runtime

/// Publishes the catalogue to its compacted topic: what changed within a second of its commit, everything again every
/// 30 s (of more than 30,000 records 1,000 a second), and a heartbeat each second. Several may run at once: readers keep the
/// highest version.
package final class CatalogPublisher: Sendable {
  package static let published = MetricDeclaration.counter(
    "handbill_catalog_published_total", help: "Records sent to the catalogue's topic, heartbeats included.")
  package static let failures = MetricDeclaration.counter(
    "handbill_catalog_publish_failures_total",
    help: "Rounds of publishing the catalogue that failed and were begun again.")
  package static let lostRecords = MetricDeclaration.gauge(
    "handbill_catalog_lost_records",
    help: "Records of which the catalogue's topic holds later versions than the database: commits were lost.")
  /// Every metric that a publisher shows.
  package static let metrics = [published, failures, lostRecords]

  private static let intervalMilliseconds: Int64 = 1_000
  /// How long to rest until it is looked again whether a person has decided what becomes of lost commits.
  private static let behindMilliseconds: Int64 = 5_000

  private let pool: PostgresPool
  private let kafka: KafkaConfiguration
  private let ring: KeyRing
  private let breaker: BillingBreaker
  private let context: ServiceContext

  private init(
    pool: PostgresPool, kafka: KafkaConfiguration, ring: KeyRing, breaker: BillingBreaker, context: ServiceContext
  ) {
    self.pool = pool
    self.kafka = kafka
    self.ring = ring
    self.breaker = breaker
    self.context = context
  }

  /// Starts publishing on a thread of its own, until the service stops. Each heartbeat says whether the breaker is open.
  ///
  /// - Parameter ring: the network's keys, under which readers believe it.
  /// - Throws: `CryptoError` where libcrypto has no HMAC-SHA-256: fatal.
  package static func start(
    pool: PostgresPool, kafka: KafkaConfiguration, ring: KeyRing, breaker: BillingBreaker, context: ServiceContext
  ) throws(CryptoError) {
    _ = try MessageMAC(ring: ring)
    let publisher = CatalogPublisher(pool: pool, kafka: kafka, ring: ring, breaker: breaker, context: context)
    context.lifeCycle.startRounds("catalog") { publisher.run(rest: $0) }
  }

  /// Publishes everything once, with a heartbeat that stops nothing, and waits until it is in the log. A stop that a
  /// console has told goes on nevertheless: readers hold it for a while.
  ///
  /// - Returns: how many records of the catalogue, deleted ones included.
  /// - Throws: `PostgresError`, `KafkaError`, `CryptoError`, ``CatalogBehindTopic`` or ``NotDelivered``.
  @discardableResult
  package static func publishOnce(
    pool: PostgresPool, kafka: KafkaConfiguration, ring: KeyRing, now: Timestamp, timeoutMilliseconds: Int32 = 10_000
  ) throws -> Int {
    let mac = try MessageMAC(ring: ring)
    var feed = CatalogFeed()
    let told = try CatalogTopic.read(kafka, ring: ring, timeoutMilliseconds: timeoutMilliseconds)
    let rows = try pool.withConnection { connection throws(PostgresError) in
      try connection.run(ReadCatalog(after: 0))
    }
    try check(rows, against: told)
    let outputs = feed.outputs(changed: rows, now: now)
    let producer = try KafkaProducer(
      configuration: kafka, topics: [Topic.catalog.name], timeoutMilliseconds: timeoutMilliseconds)
    do {
      for output in outputs { try send(output, under: mac, now: now, to: producer) }
    } catch {
      producer.abort()
      throw error
    }
    let isDelivered = producer.close(timeoutMilliseconds: timeoutMilliseconds)
    if let failure = producer.failure { throw failure }
    guard isDelivered else { throw NotDelivered(timeoutMilliseconds: timeoutMilliseconds) }
    return outputs.count { if case .message(.heartbeat) = $0 { false } else { true } }
  }

  private static func check(_ rows: [CatalogRow], against topic: CatalogTopic) throws(CatalogBehindTopic) {
    let losses = topic.losses(of: rows)
    guard losses.isEmpty else { throw CatalogBehindTopic(losses: losses) }
  }

  /// Kafka did not take everything in time. The tables hold the change all the same, and a running console tells it.
  package struct NotDelivered: Error, Sendable, CustomStringConvertible {
    package let timeoutMilliseconds: Int32
    package var description: String {
      "Kafka did not take the catalogue within \(timeoutMilliseconds) ms: see what 'handbill doctor' says of the brokers, "
        + "then publish it again, which does no harm"
    }
  }

  private func run(rest: (Int64) -> Bool) {
    let readiness = context.health.readiness("catalog", until: "the catalogue was not published yet")
    let logger = context.logger.named("catalog")
    let published = context.metrics.counter(Self.published)
    let failures = context.metrics.counter(Self.failures)
    let producer = RebuiltProducer(configuration: kafka, topics: [Topic.catalog.name])
    let lost = context.metrics.gauge(Self.lostRecords)
    var interval = Self.intervalMilliseconds
    var round = Round()
    repeat {
      interval = Self.intervalMilliseconds
      do {
        let count = try round.publish(
          from: pool, to: producer, under: try MessageMAC(ring: ring), stop: breaker.stop, clock: context.clock,
          topic: { try CatalogTopic.read(kafka, ring: ring) })
        published.add(count)
        lost.set(0)
        readiness.setReady()
        for key in round.feed.unreadableKeys.sorted() {
          logger.limited(
            .error, key: "unreadable-\(key)", "a record of the catalogue was written by a newer program",
            ["key": .text(key)])
        }
      } catch let behind as CatalogBehindTopic {
        round = Round()
        interval = Self.behindMilliseconds
        lost.set(Double(behind.losses.count))
        readiness.setNotReady("commits of the catalogue were lost")
        logger.limited(.error, key: "behind", "the catalogue is not published", ["error": .text("\(behind)")])
      } catch {
        // What was sent and not delivered is not known: everything is told again.
        round = Round()
        failures.add()
        readiness.setNotReady("the catalogue cannot be published: \(Self.whose(error))")
        logger.limited(
          .warning, key: "publish", "the catalogue could not be published", ["error": .text("\(error)")])
      }
    } while rest(interval)
    producer.close(timeoutMilliseconds: 2_000)
  }

  /// Where to look.
  private static func whose(_ error: any Error) -> String {
    guard let error = error as? PostgresError else { return "Kafka does not take it; the log says why" }
    return error.isUnavailable ? "PostgreSQL cannot be reached" : "PostgreSQL refuses it; the log says why"
  }

  /// What a producer has been given.
  private struct Round {
    var feed = CatalogFeed()
    var generation: UInt64?
    var isBegun = false

    mutating func publish(
      from pool: PostgresPool, to producer: RebuiltProducer, under mac: MessageMAC, stop: PaidAdsStop?,
      clock: any TimeSource, topic: () throws -> CatalogTopic
    ) throws -> Int {
      let current = try producer.start()
      // Another one has been given nothing.
      if generation != current { self = Round(generation: current) }
      // Nothing was published yet: the tables may be older than what was published last. What is in the topic is in the
      // tables already, so these are read later.
      let told = isBegun ? CatalogTopic() : try topic()
      let after = feed.lastChange
      let rows = try pool.withConnection { connection throws(PostgresError) in
        try connection.run(ReadCatalog(after: after))
      }
      // The database has gone back, and no connection told it: what was told last is looked for in the topic.
      guard rows.last?.changeNumber ?? 0 >= after else {
        self = Round(generation: current)
        return try publish(from: pool, to: producer, under: mac, stop: stop, clock: clock, topic: topic)
      }
      try CatalogPublisher.check(rows, against: told)
      isBegun = true
      let now = clock.now
      let outputs = feed.outputs(changed: rows.filter { $0.changeNumber > after }, stop: stop, now: now)
      guard let kafka = producer.producer(generation: current) else { throw KafkaError.closed }
      for output in outputs { try CatalogPublisher.send(output, under: mac, now: now, to: kafka) }
      return outputs.count
    }
  }

  private static func send(
    _ output: CatalogFeed.Output, under mac: MessageMAC, now: Timestamp, to producer: KafkaProducer
  ) throws(KafkaError) {
    let message = message(output, now: now).authenticated(by: mac, now: now)
    try producer.send(
      topic: message.topic, partition: message.partition, key: message.key, value: message.value,
      headers: message.headers, reportID: 0)
  }

  private static func message(_ output: CatalogFeed.Output, now: Timestamp) -> OutgoingMessage {
    switch output {
    case .tombstone(let key):
      return OutgoingMessage(
        topic: Topic.catalog.name, partition: 0, key: Array(key.utf8), value: nil, headers: [])
    case .message(let message):
      let id =
        switch message {
        case .record(let record, let version): "\(record.key)@\(version)"
        case .deleted(let key, let version): "\(key)@\(version)"
        case .heartbeat(_, _, let time, _, _): "\(CatalogMessage.heartbeatKey)@\(time.milliseconds)"
        }
      let maker = MessageMaker(topic: Topic.catalog.name, type: message.eventType, source: "/console")
      return maker.message(message, id: id, time: now, partition: 0, key: Array(message.key.utf8))
    }
  }
}
