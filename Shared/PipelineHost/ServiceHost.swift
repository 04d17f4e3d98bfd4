internal import Kafka
internal import Pipeline
package import Runtime
internal import Threads

/// Runs one service of the pipeline in this process: a reader, its workers, the producer, the watcher of ends, the
/// keeper of leases, the writer of counts.
package enum ServiceHost {
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
    service: Tables.Service, tables: Tables, settings: PipelineSettings, alsoGrown: [String] = [],
    context: ServiceContext, prepare: () throws -> Void
  ) throws {
    let plan = ServicePlan(
      service: service, tables: tables, settings: settings,
      kafka: settings.connections.kafka(clientID: Tables.Service.name, logger: context.logger),
      context: context)
    let workers = WorkerList<Tables>()
    let connections = ServiceConnections(plan, alsoGrown: alsoGrown, workers: workers)
    let parts = ServiceParts(plan: plan, connections: connections, workers: workers)
    // What is told last stops first.
    parts.stopProducerAtEnd()
    BrokerAccess.warn(plan.kafka, context: context)
    try prepare()
    try parts.startWorking()
  }
}

/// The parts of a service that work, and how each of them stops.
private struct ServiceParts<Tables: ServiceTables> {
  /// How long a stop waits for deliveries: what has no report by then is published again after the next start.
  private static var flushMilliseconds: Int32 { 4_000 }
  /// How long a stop waits for the last counts: partitions that are to be open again within a second wait as long.
  private static var lastCountsMilliseconds: Int { 300 }

  let plan: ServicePlan<Tables>
  let connections: ServiceConnections<Tables>
  let workers: WorkerList<Tables>

  private var context: ServiceContext { plan.context }

  func stopProducerAtEnd() {
    let writer = connections.writer
    context.lifeCycle.onStop("producer") { writer.close(timeoutMilliseconds: Self.flushMilliseconds) }
  }

  /// Waits for the connections. A member of the service comes last: nobody is owed partitions that he does not take.
  func startWorking() throws {
    let consumer = try connections.consumer.value()
    let boxes = ReaderBoxes(waker: consumer.waker)
    workers.set(try makeWorkers(boxes))
    let keeper = makeKeeper(try connections.leases.value(), boxes)
    let reader = try makeReader(
      ReaderTools(
        service: plan.service, settings: plan.settings, consumer: consumer, ends: connections.ends, leases: keeper,
        boxes: boxes))
    try startCounts()
    startWorkers()
    startEnds()
    startReader(reader)
    let writer = connections.writer
    // First of all at the end, so that no worker waits for a broker that is away.
    context.lifeCycle.onStop("sending") { writer.beginStopping() }
  }

  private func makeWorkers(_ boxes: ReaderBoxes) throws -> [PartitionWorker<Tables>] {
    let metrics = context.metrics
    let gauges = WorkerMeters.Gauges(metrics)
    let events = boxes.workerEvents
    return try connections.workerTools.enumerated().map { index, tools in
      let tools = try tools.value()
      let heartbeat = context.health.heartbeat("worker-\(index)")
      return try PartitionWorker(
        tools, writer: connections.writer, logger: context.logger.named("worker-\(index)"),
        meters: WorkerMeters(registry: metrics, worker: index, gauges: gauges),
        heartbeat: { heartbeat.beat() }, tell: { events.tell($0) })
    }
  }

  private func makeKeeper(_ store: LeaseStore, _ boxes: ReaderBoxes) -> LeaseKeeper {
    let heartbeat = context.health.heartbeat("leases")
    let ends = connections.ends
    return LeaseKeeper(
      store: store, holdings: boxes.holdings, partitionCount: { ends.sharedPartitionCount },
      logger: context.logger.named("leases"), heartbeat: { heartbeat.beat() }, order: { boxes.put($0) })
  }

  private func makeReader(_ tools: ReaderTools<Tables.Service>) throws -> RecordReader<Tables> {
    let heartbeat = context.health.heartbeat("reader")
    let readiness = context.health.readiness("partitions", until: "no partitions are taken yet")
    return try RecordReader(
      tools, workers: workers.all, logger: context.logger.named("reader"), heartbeat: { heartbeat.beat() },
      ready: { why in if let why { readiness.setNotReady(why) } else { readiness.setReady() } })
  }

  /// Ends after the workers, whose last counts it writes if that can be done at once; what is left is counted again by
  /// whoever opens the partitions.
  private func startCounts() throws {
    let database = try plan.database(for: "counts")
    let heartbeat = context.health.heartbeat("counts")
    let (plan, counts, workers) = (plan, connections.counts, workers)
    let thread = OwnerThread("counts") {
      counts.run(
        {
          CountStore(
            tables: plan.tables, configuration: database, insertedRowsMaximum: plan.settings.insertedRowsMaximum)
        },
        heartbeat: { heartbeat.beat() },
        report: { workers.worker(of: $0.partition)?.mailbox.put(.counted($0)) })
    }
    context.lifeCycle.onStop("counts") {
      counts.end()
      _ = thread.join(timeoutMilliseconds: Self.lastCountsMilliseconds)
    }
  }

  private func startWorkers() {
    let all = workers.all
    let threads = all.enumerated().map { index, worker in OwnerThread("worker-\(index)") { worker.run() } }
    context.lifeCycle.onStop("workers") {
      for worker in all { worker.mailbox.put(.stop) }
      for thread in threads { thread.join() }
    }
  }

  private func startEnds() {
    let ends = connections.ends
    let thread = OwnerThread("ends") { ends.run() }
    context.lifeCycle.onStop("ends") {
      ends.stop()
      thread.join()
    }
  }

  private func startReader(_ reader: RecordReader<Tables>) {
    let lifeCycle = context.lifeCycle
    let thread = OwnerThread("reader") {
      do throws(KafkaError) { try reader.run() } catch {
        lifeCycle.requestStop("Kafka's consumer failed for good: \(error)", exitCode: .unavailable)
      }
    }
    let ends = connections.ends
    lifeCycle.onStop("reader") {
      reader.stop()
      // Its questions to a broker that is away run out meanwhile.
      ends.stop()
      thread.join()
    }
  }
}
