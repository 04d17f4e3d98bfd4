import AdCore
import Foundation
import Kafka
import Pipeline
import Postgres
import Runtime
import Threads

/// What a worker is told. A generation counts the openings of a partition: what belongs to an earlier one is dropped.
enum WorkerCommand<Event: Sendable>: Sendable {
  case open(Int32, by: PartitionClaim, partitionCount: Int32, generation: UInt64)
  case batch(Int32, InputBatch<Event>, generation: UInt64)
  case confirmEnd(Int32, input: Int, offset: Int64, asked: Timestamp)
  case delivered([Receipt])
  case writerRebuilt
  case close(Int32, generation: UInt64)
  case stop
}

/// Decides and commits for its partitions, on one thread with one database connection.
final class PartitionWorker<Tables: ServiceTables>: @unchecked Sendable {
  // `@unchecked Sendable` holds because everything but the mailbox and the constants is touched by `run`'s thread only.
  typealias Service = Tables.Service

  let mailbox = Mailbox<WorkerCommand<Service.Event>>()
  private let service: Service
  private let store: PostgresPipelineStore<Tables>
  private let writer: WorkerLogWriter
  private let probe: KafkaLogProbe
  private let tell: @Sendable (WorkerNews) -> Void
  private let logger: Logger
  private let meters: WorkerMeters
  private let outboxEntriesMaximum: Int
  private let clock = SystemClock()
  private var pipelines: [Int32: (pipeline: Pipeline, generation: UInt64)] = [:]
  /// Batches that were finished, of partitions that may read no more until some of their outbox is delivered.
  private var withheld: [Int32: Int] = [:]
  /// Partitions that wait for a person.
  private var stopped: Set<Int32> = []
  private let heartbeat: @Sendable () -> Void

  static var tickMilliseconds: Int64 { 1_000 }

  init(
    service: Service, store: PostgresPipelineStore<Tables>, probe: KafkaLogProbe,
    writer: KafkaLogWriter, logger: Logger, meters: WorkerMeters, outboxEntriesMaximum: Int,
    heartbeat: @escaping @Sendable () -> Void, tell: @escaping @Sendable (WorkerNews) -> Void
  ) {
    self.service = service
    self.store = store
    self.writer = WorkerLogWriter(writer)
    self.probe = probe
    self.logger = logger
    self.meters = meters
    self.outboxEntriesMaximum = outboxEntriesMaximum
    self.heartbeat = heartbeat
    self.tell = tell
  }

  /// Works until told to stop.
  func run() {
    var nextTick = clock.monotonicMilliseconds + Self.tickMilliseconds
    while true {
      heartbeat()
      let hasBacklog = pipelines.values.contains { $0.pipeline.hasBacklog }
      let wait = hasBacklog ? 0 : max(0, nextTick - clock.monotonicMilliseconds)
      for command in mailbox.takeAll(timeoutMilliseconds: Int(wait)) {
        if case .stop = command {
          end()
          return
        }
        obey(command)
      }
      if hasBacklog { attemptAll { pipeline throws(PipelineError) in try pipeline.continueBacklog() } }
      if clock.monotonicMilliseconds >= nextTick {
        attemptAll { [meters] pipeline throws(PipelineError) in meters.add(try pipeline.tick()) }
        nextTick = clock.monotonicMilliseconds + Self.tickMilliseconds
        // Without readers a watermark moves with batches only: its age would say nothing on a quiet network.
        let watermarks = service.publishesWatermarks ? pipelines.values.map(\.pipeline.committedWatermark) : []
        meters.watermarks(watermarks, now: clock.now)
      }
    }
  }

  private func end() {
    Failpoint.reach(.duringStop)
    pipelines.removeAll()
    store.close()
    probe.abandon()
  }

  private func obey(_ command: WorkerCommand<Service.Event>) {
    switch command {
    case .open(let partition, let claim, let partitionCount, let generation):
      open(partition, by: claim, partitionCount: partitionCount, generation: generation)
    case .batch(let partition, let batch, let generation):
      guard let entry = pipelines[partition], entry.generation == generation else { return }
      attempt(partition) { pipeline throws(PipelineError) in
        let started = clock.monotonicMicroseconds
        let summary = try pipeline.process(batch)
        meters.add(summary, microseconds: clock.monotonicMicroseconds - started)
        if pipeline.isOutboxFull {
          withheld[partition, default: 0] += 1
        } else {
          tell(.finishedBatch(partition, nextOffsets: pipeline.nextOffsets, generation: generation))
        }
      }
    case .confirmEnd(let partition, let input, let offset, let asked):
      pipelines[partition]?.pipeline.confirmEnd(input: input, offset: offset, asked: asked)
    case .delivered(let receipts):
      Failpoint.reach(.afterPublish)
      for receipt in receipts { pipelines[receipt.partition]?.pipeline.delivered(receipt) }
      if !withheld.isEmpty { tellWithheld() }
    case .writerRebuilt:
      guard writer.adopt() else { return }
      attemptAll { pipeline throws(PipelineError) in try pipeline.writerRebuilt() }
    case .close(let partition, let generation):
      pipelines[partition] = nil
      note(partition, isStopped: false)
      meters.partitionsOpen(pipelines.count)
      tell(.closed(partition, generation: generation))
    case .stop:
      break
    }
  }

  /// Tells of batches finished while the outbox was full, where it no longer is: only then more is handed over.
  private func tellWithheld() {
    for (partition, count) in withheld {
      if let entry = pipelines[partition] {
        guard !entry.pipeline.isOutboxFull else { continue }
        for _ in 0..<count {
          tell(
            .finishedBatch(partition, nextOffsets: entry.pipeline.nextOffsets, generation: entry.generation))
        }
      }
      withheld[partition] = nil
    }
  }

  private func open(_ partition: Int32, by claim: PartitionClaim, partitionCount: Int32, generation: UInt64) {
    let pipeline = PartitionPipeline(
      service: service, partition: partition, partitionCount: partitionCount, store: store, writer: writer,
      clock: PipelineClock())
    pipeline.outboxEntriesMaximum = outboxEntriesMaximum
    pipeline.alarm = { [meters, logger] alarm in
      meters.count(alarm)
      logger.limited(
        .error, key: "alarm-\(partition)", alarm.message,
        ["partition": .init(Int(partition)), "detail": .init(alarm.detail)])
    }
    withheld[partition] = nil
    let began = clock.monotonicMilliseconds
    var fencedAt = began
    var lookedAt = began
    do throws(PipelineError) {
      let offsets = try pipeline.open(by: claim) { lastOffsets throws(PipelineError) in
        fencedAt = clock.monotonicMilliseconds
        defer { lookedAt = clock.monotonicMilliseconds }
        return try look(partition, lastOffsets: lastOffsets)
      }
      logger.debug(
        "a partition is open",
        [
          "partition": .init(Int(partition)), "fence_ms": .init(Int(fencedAt - began)),
          "look_ms": .init(Int(lookedAt - fencedAt)), "load_ms": .init(Int(clock.monotonicMilliseconds - lookedAt)),
        ])
      pipelines[partition] = (pipeline, generation)
      note(partition, isStopped: false)
      meters.partitionsOpen(pipelines.count)
      tell(.opened(partition, epoch: pipeline.ownEpoch, offsets: offsets, generation: generation))
    } catch {
      report(error, partition: partition)
      tell(.failed(partition, error, generation: generation))
    }
  }

  /// Looks into the inputs' logs: their bounds, and the records that the positions rest on.
  private func look(_ partition: Int32, lastOffsets: [Int64?]) throws(PipelineError) -> [LogProbe] {
    do throws(KafkaError) {
      let places = service.inputs.map { KafkaTopicPartition(topic: $0.topic, partition: partition) }
      return try probe.lookAtRecords(places, lastOffsets: lastOffsets, timeoutMilliseconds: 10_000)
    } catch {
      throw .logUnreadable("the logs of partition \(partition) cannot be looked into: \(error)")
    }
  }

  private typealias Pipeline = PartitionPipeline<PostgresPipelineStore<Tables>, WorkerLogWriter>

  private func attemptAll(_ body: (Pipeline) throws(PipelineError) -> Void) {
    for partition in pipelines.keys.sorted() { attempt(partition, body) }
  }

  /// Runs `body` on the partition; whatever it throws ends this opening of the partition.
  private func attempt(_ partition: Int32, _ body: (Pipeline) throws(PipelineError) -> Void) {
    guard let entry = pipelines[partition] else { return }
    do throws(PipelineError) {
      try body(entry.pipeline)
    } catch {
      pipelines[partition] = nil
      meters.partitionsOpen(pipelines.count)
      report(error, partition: partition)
      tell(.failed(partition, error, generation: entry.generation))
    }
  }

  private func note(_ partition: Int32, isStopped: Bool) {
    if isStopped { stopped.insert(partition) } else { stopped.remove(partition) }
    meters.partitionsStopped(stopped.count)
  }

  private func report(_ error: PipelineError, partition: Int32) {
    meters.reopening(error)
    note(partition, isStopped: error.kind == .logReplaced)
    logger.limited(
      error.kind == .logReplaced || error.kind.isMistake ? .error : .warning,
      key: "partition-\(partition)-\(error.kind.rawValue)",
      "a partition was given up and is opened again", ["partition": .init(Int(partition)), "reason": .init("\(error)")])
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
