package import Kafka
package import Pipeline
package import Runtime
internal import Threads

/// The writer of a service: one idempotent producer for all its partitions, made again whenever it fails. Workers send
/// through a ``WorkerTopicWriter`` each; each partition sends again to the next producer what was not reported.
package final class KafkaTopicWriter: Sendable {
  /// Tells a partition's thread about deliveries, or that the writer was made again.
  package struct Listener: Sendable {
    package var delivered: @Sendable ([Receipt]) -> Void
    package var rebuilt: @Sendable () -> Void

    package init(delivered: @escaping @Sendable ([Receipt]) -> Void, rebuilt: @escaping @Sendable () -> Void) {
      self.delivered = delivered
      self.rebuilt = rebuilt
    }
  }

  /// How long an answer's topic may take to be known: an answer that comes later is of no use, and all partitions of
  /// the thread wait meanwhile.
  private static let answerMilliseconds = 1_000
  /// How long one try waits for credit: after it a stop is seen.
  private static let sendMilliseconds = 1_000

  private let producer: RebuiltProducer
  private let listener: Listener
  private let logger: Logger
  private let unsent: Counter
  /// The service stops.
  private let stopping = StopRequest()

  /// - Parameter topics: warmed up before the first record: librdkafka 2.0.2 delays the first one of a topic.
  package init(
    configuration: KafkaConfiguration, topics: [String], listener: Listener, logger: Logger, metrics: MetricsRegistry
  ) {
    self.listener = listener
    self.logger = logger
    let unsent = metrics.counter(HostMetrics.unsentAnswers)
    let rebuilds = metrics.counter(HostMetrics.producerRebuilds)
    self.unsent = unsent
    var events = RebuiltProducer.Listener()
    events.rebuilt = listener.rebuilt
    events.lost = { error in
      logger.warning("the producer failed and is rebuilt", ["error": .init(error.description)])
      rebuilds.add()
    }
    events.stillDown = { error in
      logger.limited(.warning, key: "rebuild", "no producer yet", ["error": .init(error.description)])
    }
    events.reports = { reports in
      for report in reports {
        guard let error = report.error, error.kind != .purged else { continue }
        unsent.add()
        logger.limited(.warning, key: "report", "a message was not delivered", ["error": .init(error.description)])
      }
      let receipts = ReceiptCode.latest(reports.lazy.filter { $0.error == nil }.map { $0.reportID })
      if !receipts.isEmpty { listener.delivered(receipts) }
    }
    producer = RebuiltProducer(
      configuration: configuration, topics: topics, isExpendable: { $0 == ReceiptCode.none }, listener: events)
  }

  /// Builds the first producer; where there is one already, does nothing. Throws when the topics cannot be seen.
  package func start() throws(KafkaError) { try producer.start() }

  /// Which producer there is; nil while there is none.
  var currentGeneration: UInt64? { producer.generation }

  /// Nothing waits for credit any more: what is committed and was not taken is published after the next start.
  package func beginStopping() { stopping.make() }

  /// - Parameter known: the producer that the sender's partitions know of.
  func send(_ message: OutgoingMessage, receipt: Receipt?, generation known: UInt64?) throws(PipelineError) {
    guard let known, let current = producer.producer(generation: known) else {
      throw .producerUnavailable("the producer is being rebuilt")
    }
    while true {
      do throws(KafkaError) {
        try current.send(
          topic: message.topic, partition: message.partition, key: message.key, value: message.value,
          headers: message.headers, reportID: receipt.map(ReceiptCode.encode) ?? ReceiptCode.none,
          timeoutMilliseconds: receipt == nil ? Self.answerMilliseconds : Self.sendMilliseconds)
        return
      } catch {
        // Too much in flight: wait on, so that what is committed is never faster than what is delivered.
        if error.kind == .noCredit {
          if stopping.isRequested {
            throw .producerUnavailable("the service stops, and too much is in flight")
          }
          continue
        }
        try giveUp(error, message: message, receipt: receipt, generation: known)
        return
      }
    }
  }

  /// An answer that nobody can take is dropped; anything else is kept for later.
  private func giveUp(
    _ error: KafkaError, message: OutgoingMessage, receipt: Receipt?, generation: UInt64
  ) throws(PipelineError) {
    if error.kind == .producerFailed || error.kind == .closed {
      producer.fail(generation: generation, error)
      throw .producerUnavailable(error.description)
    }
    logger.limited(
      .warning, key: "send-\(message.topic)", "a message could not be sent",
      ["topic": .init(message.topic), "partition": .init(Int(message.partition)), "error": .init(error.description)])
    guard let receipt else {
      unsent.add()
      return
    }
    if error.kind == .recordRefused, case .outbox = receipt.content {
      // It can never be sent, and kept it would end one producer after the other. Its outcome is recorded.
      unsent.add()
      listener.delivered([receipt])
      return
    }
    producer.fail(generation: generation, error)
    throw .producerUnavailable(error.description)
  }

  /// Flushes what the producer has; it ends by itself then.
  package func close(timeoutMilliseconds: Int32) {
    producer.close(timeoutMilliseconds: timeoutMilliseconds, waitsForEnd: false)
  }
}

/// A receipt as the 64 bits that a delivery report carries: 16 of partition, 4 of output (15: outbox), 44 of number.
enum ReceiptCode {
  /// A message whose report concerns nobody.
  static let none: UInt64 = .max
  private static let outboxOutput: UInt64 = 15
  private static let numberMask: UInt64 = 1 << 44 - 1

  static func encode(_ receipt: Receipt) -> UInt64 {
    let partition = UInt64(UInt16(truncatingIfNeeded: receipt.partition)) << 48
    switch receipt.content {
    case .numbered(let output, let sequence):
      return partition | UInt64(output & 7) << 44 | UInt64(bitPattern: sequence) & numberMask
    case .outbox(let id):
      return partition | outboxOutput << 44 | UInt64(bitPattern: id) & numberMask
    }
  }

  /// What these codes come to: of numbered messages the highest of each output says it all, because deliveries are a
  /// prefix of what was sent.
  static func latest(_ codes: some Sequence<UInt64>) -> [Receipt] {
    var others: [UInt64] = []
    var highest: [UInt64: UInt64] = [:]
    // Reports come in long runs of one output: the run's highest is kept here, the others' in the dictionary.
    var run = none
    for code in codes where code != none {
      if code >> 44 & 15 == outboxOutput {
        others.append(code)
      } else if code >> 44 == run >> 44 {
        run = max(run, code)
      } else {
        if run != none { highest[run >> 44] = run }
        run = max(code, highest[code >> 44] ?? 0)
      }
    }
    if run != none { highest[run >> 44] = run }
    return (others + highest.values).compactMap(decode)
  }

  static func decode(_ code: UInt64) -> Receipt? {
    guard code != none else { return nil }
    let number = Int64(code & numberMask)
    let output = code >> 44 & 15
    return Receipt(
      partition: Int32(code >> 48),
      content: output == outboxOutput ? .outbox(id: number) : .numbered(output: Int(output), sequence: number))
  }
}
