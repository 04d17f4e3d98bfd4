internal import AdCore
internal import Crypto
internal import Foundation
internal import Kafka
internal import Pipeline
internal import Postgres
internal import Runtime
internal import Threads

/// Decides and commits for its partitions, on one thread with one database connection: does what the rules say
/// (``WorkerState``) and tells them what came of it.
final class PartitionWorker<Tables: ServiceTables>: @unchecked Sendable {
  // `@unchecked Sendable` holds because everything but the mailbox and the constants is touched by `run`'s thread only.
  typealias Service = Tables.Service
  typealias Batch = InputBatch<Service.Event>
  private typealias Pipeline = PartitionPipeline<PostgresPipelineStore<Tables>, WorkerTopicWriter>

  let mailbox = Mailbox<WorkerCommand<Batch>>()
  private let service: Service
  private let store: PostgresPipelineStore<Tables>
  private let writer: WorkerTopicWriter
  private let probe: KafkaTopicProbe
  private let tell: @Sendable (WorkerEvent) -> Void
  private let logger: Logger
  private let meters: WorkerMeters
  private let outboxEntriesMaximum: Int
  private let memory: PipelineMemory
  private let clock = SystemClock()
  private var state: WorkerState<Batch>
  private var pipelines: [Int32: Pipeline] = [:]
  /// What was committed here in partitions that were opened before.
  private var committed: [Int32: CommittedBatch] = [:]
  private let mac: MessageMAC
  private let heartbeat: @Sendable () -> Void

  init(
    _ tools: WorkerTools<Tables>, writer: KafkaTopicWriter, logger: Logger, meters: WorkerMeters,
    heartbeat: @escaping @Sendable () -> Void, tell: @escaping @Sendable (WorkerEvent) -> Void
  ) throws(CryptoError) {
    service = tools.service
    store = tools.store
    probe = tools.probe
    outboxEntriesMaximum = tools.outboxEntriesMaximum
    memory = tools.memory
    self.writer = try WorkerTopicWriter(writer, ring: tools.service.ring)
    mac = try MessageMAC(ring: tools.service.ring)
    self.logger = logger
    self.meters = meters
    self.heartbeat = heartbeat
    self.tell = tell
    state = WorkerState(now: clock.monotonicMilliseconds)
  }

  /// Works until told to stop.
  func run() {
    while !state.isEnded {
      heartbeat()
      let wait = state.waitMilliseconds(now: clock.monotonicMilliseconds)
      for command in mailbox.takeAll(timeoutMilliseconds: Int(wait)) { perform(state.told(command)) }
      perform(state.backlog)
      perform(state.ticked(now: clock.monotonicMilliseconds))
      meters.partitions(state)
    }
  }

  private func perform(_ actions: [WorkerAction<Batch>]) {
    for action in actions {
      switch action {
      case .open(let partition, let claim, let partitionCount):
        open(partition, by: claim, partitionCount: partitionCount)
      case .process(let partition, let batch):
        process(batch, of: partition)
      case .confirmEnd(let partition, let input, let offset, let asked, let decided):
        attempt(partition) { pipeline throws(PipelineError) in
          try pipeline.confirmEnd(input: input, offset: offset, asked: asked, decided: decided)
        }
      case .deliver(let receipts):
        deliver(receipts)
      case .counted(let report):
        attempt(report.partition) { pipeline throws(PipelineError) in try pipeline.counted(report) }
      case .adoptWriter:
        if writer.adopt() { perform(state.adoptedWriter()) }
      case .publishAgain(let partition):
        attempt(partition) { pipeline throws(PipelineError) in try pipeline.writerRebuilt() }
      case .publishBacklog(let partition):
        attempt(partition) { pipeline throws(PipelineError) in try pipeline.continueBacklog() }
      case .tick(let partition):
        attempt(partition) { [meters] pipeline throws(PipelineError) in meters.add(try pipeline.tick()) }
      case .measure:
        measure()
      case .flushCounts(let partition):
        pipelines[partition]?.flushLastCounts()
      case .drop(let partition):
        if let pipeline = pipelines.removeValue(forKey: partition) { committed[partition] = pipeline.committed }
      case .report(let partition, let error, let forPerson):
        report(error, partition: partition, forPerson: forPerson)
      case .tell(let event):
        tell(event)
      case .end:
        end()
      }
    }
  }

  /// Does it for the partition and tells the rules what came of it.
  private func attempt(
    _ partition: Int32, endsBatch: Bool = false, _ body: (Pipeline) throws(PipelineError) -> Void
  ) {
    guard let pipeline = pipelines[partition] else { return }
    do throws(PipelineError) {
      try body(pipeline)
      if endsBatch { state.finishedBatch(partition) }
      perform(state.stands(partition, pipeline.standing))
    } catch {
      perform(state.failed(partition, error))
    }
  }

  private func process(_ batch: Batch, of partition: Int32) {
    attempt(partition, endsBatch: true) { pipeline throws(PipelineError) in
      let started = clock.monotonicMicroseconds
      let summary = try pipeline.process(batch)
      meters.add(summary, microseconds: clock.monotonicMicroseconds - started)
    }
  }

  private func deliver(_ receipts: [Receipt]) {
    Failpoint.reach(.afterPublish)
    for receipt in receipts { pipelines[receipt.partition]?.delivered(receipt) }
    for partition in Set(receipts.map(\.partition)) { attempt(partition) { _ in } }
  }

  private func open(_ partition: Int32, by claim: PartitionClaim, partitionCount: Int32) {
    let pipeline = Pipeline(
      service: service, partition: partition, partitionCount: partitionCount, store: store, writer: writer,
      clock: PipelineClock())
    pipeline.outboxEntriesMaximum = outboxEntriesMaximum
    pipeline.memory = memory
    pipeline.alarm = { [meters, logger] alarm in
      meters.count(alarm)
      logger.limited(
        .error, key: "alarm-\(partition)", alarm.message,
        ["partition": .init(Int(partition)), "detail": .init(alarm.detail)])
    }
    let began = clock.monotonicMilliseconds
    var fencedAt = began
    var probedAt = began
    do throws(PipelineError) {
      _ = try pipeline.open(
        by: claim, since: committed[partition],
        lastMarks: { topics throws(PipelineError) in try lastMarks(of: partition, topics) },
        probe: { lastOffsets throws(PipelineError) in
          fencedAt = clock.monotonicMilliseconds
          defer { probedAt = clock.monotonicMilliseconds }
          return try probes(of: partition, lastOffsets: lastOffsets)
        })
      logger.debug(
        "a partition is open",
        [
          "partition": .init(Int(partition)), "fence_ms": .init(Int(fencedAt - began)),
          "probe_ms": .init(Int(probedAt - fencedAt)), "load_ms": .init(Int(clock.monotonicMilliseconds - probedAt)),
        ])
      pipelines[partition] = pipeline
      perform(state.opened(partition, epoch: pipeline.ownEpoch, pipeline.standing))
    } catch {
      perform(state.failed(partition, error))
    }
  }

  /// Probes the inputs' logs: their bounds, and the records that the positions rest on.
  private func probes(of partition: Int32, lastOffsets: [Int64?]) throws(PipelineError) -> [TopicProbe] {
    do throws(KafkaError) {
      let partitions = service.inputs.map { KafkaTopicPartition(topic: $0.topic, partition: partition) }
      return try probe.probes(partitions, lastOffsets: lastOffsets, timeoutMilliseconds: 10_000)
    } catch {
      throw .logUnreadable("the logs of partition \(partition) cannot be probed: \(error)")
    }
  }

  private func lastMarks(of partition: Int32, _ topics: [String]) throws(PipelineError) -> [TimelineMark?] {
    do throws(KafkaError) {
      let partitions = topics.map { KafkaTopicPartition(topic: $0, partition: partition) }
      return try probe.lastMarks(of: partitions, by: mac, timeoutMilliseconds: 10_000)
    } catch {
      throw .logUnreadable("the topics of partition \(partition) cannot be looked into: \(error)")
    }
  }

  private func report(_ error: PipelineError, partition: Int32, forPerson: Bool) {
    meters.reopening(error)
    logger.limited(
      forPerson ? .error : .warning, key: "partition-\(partition)-\(error.kind.rawValue)",
      "a partition was given up and is opened again",
      ["partition": .init(Int(partition)), "kind": .init(error.kind.rawValue), "detail": .init(error.detail)])
  }

  private func measure() {
    // Without readers a watermark moves with batches only: its age would say nothing on a quiet network.
    let watermarks = service.publishesWatermarks ? pipelines.values.map(\.committedWatermark) : []
    meters.watermarks(watermarks, now: clock.now)
  }

  private func end() {
    Failpoint.reach(.duringStop)
    pipelines.removeAll()
    store.close()
    probe.abandon()
  }
}

/// The pipeline's clock: this machine's.
struct PipelineClock: Clock {
  private let clock = SystemClock()
  func now() -> Timestamp { clock.now }
}

extension PipelineAlarm {
  var message: String {
    switch self {
    case .lostOffsets: "records were lost: the log had removed them before they were read"
    case .lostSequences: "records were lost: retention took their rows before they were published"
    case .timerRefused: "the database refuses something that is due; it is left until the partition is opened again"
    }
  }

  var detail: String {
    switch self {
    case .lostOffsets(let topic, let offsets, let detail): "\(topic), offsets \(offsets): \(detail)"
    case .lostSequences(let topic, let sequences): "\(topic), sequences \(sequences)"
    case .timerRefused(let detail): detail
    }
  }
}
