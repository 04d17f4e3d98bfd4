internal import AdCore
internal import Kafka
internal import Pipeline
internal import Runtime
internal import Threads

/// Asks each second where the clients' inputs end, on a thread of its own: that a partition has decided everything
/// that is there is what moves its watermark on when nothing comes. Also measures the lag.
final class EndWatcher: @unchecked Sendable {
  // `@unchecked Sendable` holds because the probe is touched by `run`'s thread only.
  private let inputs: [(topic: String, isSequenced: Bool)]
  /// Topics besides the inputs in which others look for the partitions that this service names.
  private let alsoGrown: [String]
  private let configuration: KafkaConfiguration
  private let confirm: @Sendable (_ partition: Int32, LogEnd, _ generation: UInt64) -> Void
  private let logger: Logger
  private let metrics: MetricsRegistry
  private let watched = Locked<[Int32: PartitionProgress]>([:])
  private let counts = Locked<[String: Int32]>([:])
  private let stopRequest = StopRequest()
  private var probe: KafkaTopicProbe?
  private let growth = Locked(PartitionGrowth())
  private static let questionMilliseconds: Int32 = 5_000
  private static let intervalMilliseconds = 1_000

  init(
    inputs: [(topic: String, isSequenced: Bool)], alsoGrown: [String], configuration: KafkaConfiguration,
    logger: Logger,
    metrics: MetricsRegistry,
    confirm: @escaping @Sendable (_ partition: Int32, LogEnd, _ generation: UInt64) -> Void
  ) {
    self.inputs = inputs
    self.alsoGrown = alsoGrown
    self.configuration = configuration
    self.logger = logger
    self.metrics = metrics
    self.confirm = confirm
  }

  func watch(_ partitions: [Int32: PartitionProgress]) { watched.withLock { $0 = partitions } }

  /// The partition count of a topic, as last seen.
  func partitionCount(of topic: String) -> Int32? { counts.withLock { $0[topic] } }

  /// How many partitions all inputs have: a partition number is owned only where every input has it, never part of a
  /// set. Where the service names partitions to others, all topics of the network must have had them for a while.
  var sharedPartitionCount: Int32 { growth.withLock { $0.used } }

  /// Reads the partition counts once, by the client that is to read the inputs: it knows their leaders then. Throws when
  /// the topics are not there. Call it before `run`.
  func readCounts(by consumer: KafkaConsumer) throws(KafkaError) {
    note(try consumer.partitionCounts(of: topics, timeoutMilliseconds: Self.questionMilliseconds))
  }

  private var topics: [String] { inputs.map(\.topic) + alsoGrown }

  /// Made once and kept: its connections and its end take a good part of a start.
  private func openProbe() throws(KafkaError) -> KafkaTopicProbe {
    if let probe { return probe }
    let made = try KafkaTopicProbe(configuration: configuration)
    probe = made
    return made
  }

  private func note(_ counts: [String: Int32]) {
    self.counts.withLock { $0 = counts }
    let delay: Int64 = alsoGrown.isEmpty ? 0 : PartitionGrowth.delayMilliseconds
    growth.withLock {
      $0.note(counts.values.min() ?? 0, now: SystemClock().monotonicMilliseconds, delayMilliseconds: delay)
    }
    if Set(counts.values).count > 1 {
      logger.limited(
        .warning, key: "counts", "partitions wait until all topics have as many",
        ["counts": .init("\(counts.sorted { $0.key < $1.key })")])
    }
  }

  func stop() { stopRequest.make() }

  func run() {
    var shown: Set<Int32> = []
    // At first all else is more urgent.
    while !stopRequest.wait(milliseconds: Self.intervalMilliseconds) {
      do throws(KafkaError) {
        let probe = try openProbe()
        note(try probe.partitionCounts(of: topics, timeoutMilliseconds: Self.questionMilliseconds))
        try showLag(by: probe, shown: &shown)
      } catch {
        logger.limited(
          .warning, key: "ends", "the end offsets of the inputs cannot be read", ["error": .init(error.description)])
      }
    }
    probe?.abandon()
  }

  /// - Parameter shown: the partitions whose lag is shown; those that went to another instance are its to show.
  private func showLag(by probe: KafkaTopicProbe, shown: inout Set<Int32>) throws(KafkaError) {
    let clock = SystemClock()
    let watched = watched.withLock { $0 }
    for partition in shown.subtracting(watched.keys) {
      for input in inputs {
        metrics.remove(HostMetrics.lag, ["topic": input.topic, "partition": String(partition)])
      }
    }
    shown = Set(watched.keys)
    for (partition, progress) in watched {
      for (input, declaration) in inputs.enumerated() where !stopRequest.isRequested {
        let done = progress.doneOffsets[input]
        // Taken before the question: what arrives after it is not meant.
        let asked = clock.now
        let bounds = try probe.bounds(
          topic: declaration.topic, partition: partition, timeoutMilliseconds: Self.questionMilliseconds)
        if !declaration.isSequenced {
          let end = LogEnd(input: input, offset: bounds.end, asked: asked, decided: done)
          confirm(partition, end, progress.generation)
        }
        metrics.gauge(HostMetrics.lag, ["topic": declaration.topic, "partition": String(partition)])
          .set(max(0, bounds.end - done))
      }
    }
  }
}
