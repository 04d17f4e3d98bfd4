import Foundation
import Kafka
import Pipeline
import Postgres
import Runtime
import Threads

/// Runs one service of the pipeline in this process: a reader, its workers, the producer, the watcher of ends.
package enum ServiceHost {
  /// How long a stop waits for deliveries: what has no report by then is published again after the next start.
  private static let flushMilliseconds: Int32 = 4_000

  /// Starts everything and tells the life cycle how it stops: reading first, then the batches at work, then the
  /// producer.
  ///
  /// - Parameter alsoGrown: topics besides the inputs in which others look for the partitions that this service names: it
  ///   uses a new partition once all of them have it.
  /// - Throws: `KafkaError` or `PostgresError` for settings that cannot work; what is only away is waited for.
  package static func start<Tables: ServiceTables>(
    service: Tables.Service, tables: Tables, settings: PipelineSettings, producerLingerMilliseconds: Int = 1,
    alsoGrown: [String] = [], context: ServiceContext
  ) throws {
    typealias Service = Tables.Service
    let kafka = settings.kafka(clientID: Service.name, producerLingerMilliseconds: producerLingerMilliseconds)
    let database = try settings.database(applicationName: "handbill-\(Service.name)")
    let workers = Locked<[PartitionWorker<Tables>]>([])
    let writer = makeWriter(service: service, kafka: kafka, workers: workers, context: context)
    let ends = makeEnds(
      service: service, alsoGrown: alsoGrown, kafka: kafka, workers: workers, context: context)
    try Startup.wait(for: "kafka", context: context) {
      try ends.readCounts()
      try writer.start()
    }
    context.lifeCycle.onStop("producer") { writer.close(timeoutMilliseconds: flushMilliseconds) }
    let consumer = try KafkaConsumer(
      configuration: kafka, groupID: "handbill-\(Service.name)", topics: service.inputs.map(\.topic))
    let boxes = ReaderBoxes(waker: consumer.waker)
    let news = boxes.news
    let open = WorkerMeters.Shares(context.metrics.gauge(HostMetrics.partitionsOpen)) { $0.reduce(0, +) }
    let stopped = WorkerMeters.Shares(context.metrics.gauge(HostMetrics.partitionsStopped)) { $0.reduce(0, +) }
    let ages = WorkerMeters.Shares(context.metrics.gauge(HostMetrics.watermarkAge)) { $0.max() ?? 0 }
    for index in 0..<settings.workers {
      let heartbeat = context.health.heartbeat("worker-\(index)")
      let worker = PartitionWorker(
        service: service,
        store: PostgresPipelineStore(
          tables: tables, service: service, configuration: database,
          insertedRowsMaximum: settings.insertedRowsMaximum),
        kafka: kafka, writer: writer,
        logger: context.logger.named("worker-\(index)"),
        meters: WorkerMeters(
          registry: context.metrics, worker: index, open: open, stopped: stopped, watermarkAge: ages),
        outboxEntriesMaximum: settings.outboxEntriesMaximum,
        heartbeat: { heartbeat.beat() },
        tell: { news.tell($0) })
      workers.withLock { $0.append(worker) }
    }
    let all = workers.withLock { $0 }
    startThreads(
      reader: try makeReader(
        service: service, consumer: consumer, workers: all, settings: settings, boxes: boxes, ends: ends,
        context: context),
      workers: all, ends: ends, context: context)
    // First of all at the end, so that no worker waits for a broker that is away.
    context.lifeCycle.onStop("sending") { writer.beginStopping() }
  }

  private static func makeWriter<Tables: ServiceTables>(
    service: Tables.Service, kafka: KafkaConfiguration, workers: Locked<[PartitionWorker<Tables>]>,
    context: ServiceContext
  ) -> KafkaLogWriter {
    let listener = KafkaLogWriter.Listener(
      delivered: { receipts in
        let all = workers.withLock { $0 }
        guard !all.isEmpty else { return }
        let shares = Dictionary(grouping: receipts) { Int($0.partition) % all.count }
        for (index, share) in shares { all[index].mailbox.put(.delivered(share)) }
      },
      rebuilt: { for worker in workers.withLock({ $0 }) { worker.mailbox.put(.writerRebuilt) } })
    return KafkaLogWriter(
      configuration: kafka, topics: service.outputs + service.inputs.map(\.topic) + ["ads.rejected"],
      listener: listener, logger: context.logger.named("producer"), metrics: context.metrics)
  }

  private static func makeEnds<Tables: ServiceTables>(
    service: Tables.Service, alsoGrown: [String], kafka: KafkaConfiguration,
    workers: Locked<[PartitionWorker<Tables>]>, context: ServiceContext
  ) -> EndWatcher {
    EndWatcher(
      inputs: service.inputs.map { ($0.topic, $0.isSequenced) }, alsoGrown: alsoGrown, configuration: kafka,
      logger: context.logger.named("ends"), metrics: context.metrics
    ) { partition, input, offset, asked in
      let all = workers.withLock { $0 }
      guard !all.isEmpty else { return }
      all[Int(partition) % all.count].mailbox.put(.confirmEnd(partition, input: input, offset: offset, asked: asked))
    }
  }

  private static func makeReader<Tables: ServiceTables>(
    service: Tables.Service, consumer: KafkaConsumer, workers: [PartitionWorker<Tables>], settings: PipelineSettings,
    boxes: ReaderBoxes, ends: EndWatcher, context: ServiceContext
  ) throws -> RecordReader<Tables> {
    let heartbeat = context.health.heartbeat("reader")
    let readiness = context.health.readiness("partitions", until: "no partitions are taken yet")
    return RecordReader(
      service: service, consumer: consumer, workers: workers, settings: settings, boxes: boxes, ends: ends,
      leases: try makeLeases(of: Tables.Service.self, settings: settings, boxes: boxes, ends: ends, context: context),
      logger: context.logger.named("reader"), heartbeat: { heartbeat.beat() },
      ready: { $0 ? readiness.setReady() : readiness.setNotReady("partitions are being taken over") })
  }

  private static func makeLeases<Service: PipelineService>(
    of service: Service.Type, settings: PipelineSettings, boxes: ReaderBoxes, ends: EndWatcher, context: ServiceContext
  ) throws -> LeaseKeeper {
    let heartbeat = context.health.heartbeat("leases")
    return LeaseKeeper(
      store: LeaseStore(
        schema: service.schema, instance: processName,
        configuration: try settings.database(applicationName: "handbill-\(service.name)-leases")),
      holdings: boxes.holdings, partitionCount: { ends.sharedPartitionCount },
      logger: context.logger.named("leases"), heartbeat: { heartbeat.beat() }, order: { boxes.put($0) })
  }

  /// Host and process id. Asked of the kernel alone: Foundation would look the host up in the network.
  private static var processName: String {
    var name = [CChar](repeating: 0, count: 256)
    let isKnown = gethostname(&name, name.count - 1) == 0
    let host = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return "\(isKnown ? host : "?")/\(getpid())"
  }

  private static func startThreads<Tables: ServiceTables>(
    reader: RecordReader<Tables>, workers: [PartitionWorker<Tables>], ends: EndWatcher, context: ServiceContext
  ) {
    let workerThreads = workers.enumerated().map { index, worker in OwnerThread("worker-\(index)") { worker.run() } }
    context.lifeCycle.onStop("workers") {
      for worker in workers { worker.mailbox.put(.stop) }
      for thread in workerThreads { thread.join() }
    }
    let endThread = OwnerThread("ends") { ends.run() }
    context.lifeCycle.onStop("ends") {
      ends.stop()
      endThread.join()
    }
    let lifeCycle = context.lifeCycle
    let readerThread = OwnerThread("reader") {
      do throws(KafkaError) { try reader.run() } catch {
        lifeCycle.requestStop("Kafka's consumer failed for good: \(error)", exitCode: .unavailable)
      }
    }
    context.lifeCycle.onStop("reader") {
      reader.stop()
      // Its questions to a broker that is away run out meanwhile.
      ends.stop()
      readerThread.join()
    }
  }
}
