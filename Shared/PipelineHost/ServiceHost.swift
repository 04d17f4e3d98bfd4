internal import Foundation
internal import Kafka
internal import Pipeline
internal import Postgres
package import Runtime
internal import Threads

/// Runs one service of the pipeline in this process: a reader, its workers, the producer, the watcher of ends.
package enum ServiceHost {
  /// How long a stop waits for deliveries: what has no report by then is published again after the next start.
  private static let flushMilliseconds: Int32 = 4_000
  /// How long a stop waits for the last counts: partitions that are to be open again within a second wait as long.
  private static let lastCountsMilliseconds = 300

  /// Starts everything and tells the life cycle how it stops: reading first, then the batches at work, then the
  /// producer. Whoever restarts a service lets its partitions wait for all of this: what has to wait for others does it at
  /// the same time.
  ///
  /// - Parameters:
  ///   - alsoGrown: topics besides the inputs in which others look for the partitions that this service names: it uses a
  ///     new partition once all of them have it.
  ///   - prepare: what must be so before a partition is taken, as the database's schema; done while Kafka and PostgreSQL
  ///     are being connected to.
  /// - Throws: `KafkaError` or `PostgresError` for settings that cannot work, `CryptoError` where no decoder can be made,
  ///   and what `prepare` throws; what is only away is waited for.
  package static func start<Tables: ServiceTables>(
    service: Tables.Service, tables: Tables, settings: PipelineSettings, producerLingerMilliseconds: Int = 1,
    alsoGrown: [String] = [], context: ServiceContext, prepare: () throws -> Void
  ) throws {
    typealias Service = Tables.Service
    let kafka = settings.kafka(clientID: Service.name, producerLingerMilliseconds: producerLingerMilliseconds)
    let workers = Locked<[PartitionWorker<Tables>]>([])
    let writer = makeWriter(service: service, kafka: kafka, workers: workers, context: context)
    let ends = makeEnds(
      service: service, alsoGrown: alsoGrown, kafka: kafka, workers: workers, context: context)
    let counts = CountWriter<Tables>(logger: context.logger.named("counts"))
    let connecting = Eventual("kafka") {
      try connect(service, kafka: kafka, writer: writer, ends: ends, context: context)
    }
    let tools = (0..<settings.workers).map { index in
      Eventual("worker-\(index)") {
        try WorkerTools(tables, service, settings: settings, kafka: kafka, counts: counts)
      }
    }
    let leases = Eventual("leases") { try makeLeaseStore(of: Service.self, settings: settings) }
    context.lifeCycle.onStop("producer") { writer.close(timeoutMilliseconds: flushMilliseconds) }
    try prepare()
    let consumer = try connecting.value()
    let boxes = ReaderBoxes(waker: consumer.waker)
    let workerEvents = boxes.workerEvents
    let open = WorkerMeters.Shares(context.metrics.gauge(HostMetrics.partitionsOpen)) { $0.reduce(0, +) }
    let stopped = WorkerMeters.Shares(context.metrics.gauge(HostMetrics.partitionsStopped)) { $0.reduce(0, +) }
    let ages = WorkerMeters.Shares(context.metrics.gauge(HostMetrics.watermarkAge)) { $0.max() ?? 0 }
    for (index, tools) in tools.enumerated() {
      let tools = try tools.value()
      let heartbeat = context.health.heartbeat("worker-\(index)")
      let worker = PartitionWorker(
        tools, writer: writer, logger: context.logger.named("worker-\(index)"),
        meters: WorkerMeters(
          registry: context.metrics, worker: index, open: open, stopped: stopped, watermarkAge: ages),
        heartbeat: { heartbeat.beat() }, tell: { workerEvents.tell($0) })
      workers.withLock { $0.append(worker) }
    }
    let all = workers.withLock { $0 }
    let keeper = makeKeeper(try leases.value(), boxes: boxes, ends: ends, context: context)
    try startCounts(counts, tables: tables, settings: settings, workers: all, context: context)
    startThreads(
      reader: try makeReader(
        ReaderTools(service: service, settings: settings, consumer: consumer, ends: ends, leases: keeper, boxes: boxes),
        workers: all, context: context),
      workers: all, ends: ends, context: context)
    // First of all at the end, so that no worker waits for a broker that is away.
    context.lifeCycle.onStop("sending") { writer.beginStopping() }
  }

  private static func makeWriter<Tables: ServiceTables>(
    service: Tables.Service, kafka: KafkaConfiguration, workers: Locked<[PartitionWorker<Tables>]>,
    context: ServiceContext
  ) -> KafkaTopicWriter {
    let listener = KafkaTopicWriter.Listener(
      delivered: { receipts in
        let all = workers.withLock { $0 }
        guard !all.isEmpty else { return }
        let shares = Dictionary(grouping: receipts) { Int($0.partition) % all.count }
        for (index, share) in shares { all[index].mailbox.put(.delivered(share)) }
      },
      rebuilt: { for worker in workers.withLock({ $0 }) { worker.mailbox.put(.writerRebuilt) } })
    return KafkaTopicWriter(
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
    _ tools: ReaderTools<Tables.Service>, workers: [PartitionWorker<Tables>], context: ServiceContext
  ) throws -> RecordReader<Tables> {
    let heartbeat = context.health.heartbeat("reader")
    let readiness = context.health.readiness("partitions", until: "no partitions are taken yet")
    return try RecordReader(
      tools, workers: workers, logger: context.logger.named("reader"), heartbeat: { heartbeat.beat() },
      ready: { $0 ? readiness.setReady() : readiness.setNotReady("partitions are being taken over") })
  }

  /// Where the brokers know the topics: the consumer, which reads nothing yet, and the writer's producer.
  private static func connect<Service: PipelineService>(
    _ service: Service, kafka: KafkaConfiguration, writer: KafkaTopicWriter, ends: EndWatcher, context: ServiceContext
  ) throws -> KafkaConsumer {
    let consumer = try KafkaConsumer(
      configuration: kafka, groupID: "handbill-\(Service.name)", topics: service.inputs.map(\.topic))
    try Startup.wait(for: "kafka", context: context) {
      let producing = Eventual("producer") { try writer.start() }
      let reading = Result { () throws(KafkaError) in try ends.readCounts(by: consumer) }
      try producing.value()
      try reading.get()
    }
    return consumer
  }

  private static func makeLeaseStore<Service: PipelineService>(
    of service: Service.Type, settings: PipelineSettings
  ) throws -> LeaseStore {
    let store = LeaseStore(
      schema: service.schema, instance: processName,
      configuration: try settings.database(applicationName: "handbill-\(service.name)-leases"))
    // Where this fails it is tried again when there is something to do.
    try? store.connect()
    return store
  }

  private static func makeKeeper(
    _ store: LeaseStore, boxes: ReaderBoxes, ends: EndWatcher, context: ServiceContext
  ) -> LeaseKeeper {
    let heartbeat = context.health.heartbeat("leases")
    return LeaseKeeper(
      store: store, holdings: boxes.holdings, partitionCount: { ends.sharedPartitionCount },
      logger: context.logger.named("leases"), heartbeat: { heartbeat.beat() }, order: { boxes.put($0) })
  }

  /// Host and process id. Asked of the kernel alone: Foundation would look the host up in the network.
  private static var processName: String {
    var name = [CChar](repeating: 0, count: 256)
    let isKnown = gethostname(&name, name.count - 1) == 0
    let host = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    return "\(isKnown ? host : "?")/\(getpid())"
  }

  /// Ends after the workers, whose last counts it writes if that can be done at once; what is left is counted again by
  /// whoever opens the partitions.
  private static func startCounts<Tables: ServiceTables>(
    _ counts: CountWriter<Tables>, tables: Tables, settings: PipelineSettings, workers: [PartitionWorker<Tables>],
    context: ServiceContext
  ) throws {
    let database = try settings.database(applicationName: "handbill-\(Tables.Service.name)-counts")
    let insertedRowsMaximum = settings.insertedRowsMaximum
    let heartbeat = context.health.heartbeat("counts")
    let thread = OwnerThread("counts") {
      counts.run(
        { CountStore(tables: tables, configuration: database, insertedRowsMaximum: insertedRowsMaximum) },
        heartbeat: { heartbeat.beat() },
        report: { workers[Int($0.partition) % workers.count].mailbox.put(.counted($0)) })
    }
    context.lifeCycle.onStop("counts") {
      counts.end()
      _ = thread.join(timeoutMilliseconds: lastCountsMilliseconds)
    }
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

/// What a worker serves, and reaches PostgreSQL and Kafka by, connected.
struct WorkerTools<Tables: ServiceTables> {
  private static var questionMilliseconds: Int32 { 10_000 }

  let service: Tables.Service
  let store: PostgresPipelineStore<Tables>
  let probe: KafkaTopicProbe
  let outboxEntriesMaximum: Int
  let memory: PipelineMemory

  /// Where something is away this is tried again when there is something to do.
  init(
    _ tables: Tables, _ service: Tables.Service, settings: PipelineSettings, kafka: KafkaConfiguration,
    counts: CountWriter<Tables>
  ) throws {
    self.service = service
    outboxEntriesMaximum = settings.outboxEntriesMaximum
    memory = settings.memory
    store = PostgresPipelineStore(
      tables: tables, service: service,
      configuration: try settings.database(applicationName: "handbill-\(Tables.Service.name)"),
      insertedRowsMaximum: settings.insertedRowsMaximum, takeCounts: { counts.put($0) })
    probe = try KafkaTopicProbe(configuration: kafka)
    store.connect()
    _ = try? probe.partitionCounts(of: service.inputs.map(\.topic), timeoutMilliseconds: Self.questionMilliseconds)
  }
}
