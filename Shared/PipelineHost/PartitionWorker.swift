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

  /// A partition that is to be opened.
  private struct Opening {
    let partition: Int32
    let claim: PartitionClaim
    let partitionCount: Int32
  }

  /// One whose last owner commits nothing more.
  private struct FencedPartition {
    let pipeline: Pipeline
    let questions: LogQuestions
  }

  let mailbox = Mailbox<WorkerCommand<Batch>>()
  private let service: Service
  private let store: PostgresPipelineStore<Tables>
  private let writer: WorkerTopicWriter
  private let probe: KafkaTopicProbe
  private let logs: PartitionLogs<Service>
  private let tell: @Sendable (WorkerEvent) -> Void
  private let logger: Logger
  private let meters: WorkerMeters
  private let memory: PipelineMemory
  private let clock = SystemClock()
  private var state: WorkerState<Batch>
  private var pipelines: [Int32: Pipeline] = [:]
  /// What it was told to open since it last opened: together, once everything that it was told is looked at.
  private var openings: [Opening] = []
  private var waiting = WaitingBatches<Service.Event>()
  /// What was committed here in partitions that were opened before.
  private var committed: [Int32: CommittedBatch] = [:]
  private let heartbeat: @Sendable () -> Void

  init(
    _ tools: WorkerTools<Tables>, writer: KafkaTopicWriter, logger: Logger, meters: WorkerMeters,
    heartbeat: @escaping @Sendable () -> Void, tell: @escaping @Sendable (WorkerEvent) -> Void
  ) throws(CryptoError) {
    service = tools.service
    store = tools.store
    probe = tools.probe
    memory = tools.memory
    self.writer = try WorkerTopicWriter(writer, ring: tools.service.ring)
    logs = PartitionLogs(service: service, probe: probe, mac: try MessageMAC(ring: tools.service.ring))
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
      for command in mailbox.takeAll(timeoutMilliseconds: Int(wait)) {
        // What it has of a partition is finished before that is given up.
        if case .close = command { processAll() }
        perform(state.told(command))
      }
      processAll()
      openAll()
      perform(state.backlog)
      perform(state.ticked(now: clock.monotonicMilliseconds))
      meters.partitions(state)
    }
  }

  private func perform(_ actions: [WorkerAction<Batch>]) {
    for action in actions {
      switch action {
      case .open(let partition, let claim, let partitionCount):
        openings.append(Opening(partition: partition, claim: claim, partitionCount: partitionCount))
      case .process(let partition, let batch):
        waiting.append(batch, of: partition)
      case .confirmEnd(let partition, let end):
        attempt(partition) { pipeline throws(PipelineError) in try pipeline.confirmEnd(end) }
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
        waiting.drop(partition)
        openings.removeAll { $0.partition == partition }
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

  /// Processes what waits, together what is at hand of different partitions: so nothing waits while the worker idles, and
  /// many commit at once where it is behind.
  private func processAll() {
    while true {
      let members = waiting.next()
      if members.isEmpty { return }
      let started = clock.monotonicMicroseconds
      let open = members.compactMap { member in pipelines[member.partition].map { ($0, member.batch) } }
      let results = Pipeline.process(open, in: store)
      let microseconds = clock.monotonicMicroseconds - started
      for ((pipeline, _), result) in zip(open, results) {
        attempt(pipeline.partition, endsBatch: true) { [meters] _ throws(PipelineError) in
          meters.add(try result.get(), microseconds: microseconds)
        }
      }
    }
  }

  private func deliver(_ receipts: [Receipt]) {
    Failpoint.reach(.afterPublish)
    for receipt in receipts { pipelines[receipt.partition]?.delivered(receipt) }
    for partition in Set(receipts.map(\.partition)) { attempt(partition) { _ in } }
  }

  /// Takes over what is to be opened. The logs of all are asked together, once every last owner is fenced: with many
  /// partitions, that is most of what their clients wait for.
  private func openAll() {
    guard !openings.isEmpty else { return }
    let openings = openings
    self.openings.removeAll()
    var fenced: [FencedPartition] = []
    for opening in openings {
      heartbeat()
      let pipeline = makePipeline(opening)
      do throws(PipelineError) {
        let questions = try pipeline.acquire(by: opening.claim, since: committed[opening.partition])
        fenced.append(FencedPartition(pipeline: pipeline, questions: questions))
      } catch {
        perform(state.failed(opening.partition, error))
      }
    }
    let answers = logs.answers(to: fenced.map { ($0.pipeline.partition, $0.questions) }, beat: heartbeat)
    for (fenced, answer) in zip(fenced, answers) {
      heartbeat()
      open(fenced.pipeline, answer)
    }
  }

  private func makePipeline(_ opening: Opening) -> Pipeline {
    let partition = opening.partition
    let pipeline = Pipeline(
      service: service, partition: partition, partitionCount: opening.partitionCount, store: store, writer: writer,
      clock: clock)
    pipeline.memory = memory
    pipeline.alarm = { [meters, logger] alarm in
      meters.count(alarm)
      logger.limited(
        .error, key: "alarm-\(partition)", alarm.message,
        ["partition": .init(Int(partition)), "detail": .init(alarm.detail)])
    }
    return pipeline
  }

  private func open(_ pipeline: Pipeline, _ answer: Result<LogAnswers, PipelineError>) {
    do throws(PipelineError) {
      _ = try pipeline.open(knowing: try answer.get())
      logger.debug("a partition is open", ["partition": .init(Int(pipeline.partition))])
      pipelines[pipeline.partition] = pipeline
      perform(state.opened(pipeline.partition, epoch: pipeline.ownEpoch, pipeline.standing))
    } catch {
      perform(state.failed(pipeline.partition, error))
    }
  }

  private func report(_ error: PipelineError, partition: Int32, forPerson: Bool) {
    meters.reopening(error)
    logger.limited(
      forPerson ? .error : .warning, key: "partition-\(partition)-\(error.kind.rawValue)",
      error.kind.stops
        ? "a partition stands still until a person decides" : "a partition was given up and is opened again",
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
    openings.removeAll()
    store.close()
    probe.abandon()
  }
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
