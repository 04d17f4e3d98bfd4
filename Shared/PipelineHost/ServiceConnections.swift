internal import Kafka
internal import Pipeline
internal import Postgres
internal import Runtime
internal import Threads

/// What the parts of a service are made from.
struct ServicePlan<Tables: ServiceTables>: Sendable {
  let service: Tables.Service
  let tables: Tables
  let settings: PipelineSettings
  let kafka: KafkaConfiguration
  let context: ServiceContext

  var name: String { Tables.Service.name }

  func database(for purpose: String = "") throws -> PostgresConfiguration {
    try settings.connections.database(applicationName: "handbill-\(name)\(purpose.isEmpty ? "" : "-\(purpose)")")
  }
}

/// The workers of this process; none until they are made.
final class WorkerList<Tables: ServiceTables>: Sendable {
  private let workers = Locked<[PartitionWorker<Tables>]>([])

  var all: [PartitionWorker<Tables>] { workers.withLock { $0 } }

  func set(_ all: [PartitionWorker<Tables>]) { workers.withLock { $0 = all } }

  /// The one that has this partition whenever this process does.
  func worker(of partition: Int32) -> PartitionWorker<Tables>? {
    let all = all
    return all.isEmpty ? nil : all[Int(partition) % all.count]
  }

  /// Each worker with the receipts of its partitions.
  func grouped(_ receipts: [Receipt]) -> [(worker: PartitionWorker<Tables>, receipts: [Receipt])] {
    let all = all
    guard !all.isEmpty else { return [] }
    return Dictionary(grouping: receipts) { Int($0.partition) % all.count }.map { (all[$0.key], $0.value) }
  }
}

/// The parts of a service that reach Kafka and PostgreSQL. Connecting begins at once, each part on a thread of its own:
/// whoever needs one waits for it.
struct ServiceConnections<Tables: ServiceTables> {
  let writer: KafkaTopicWriter
  let ends: EndWatcher
  let counts: CountWriter<Tables>
  /// Reads nothing yet.
  let consumer: Eventual<KafkaConsumer>
  let workerTools: [Eventual<WorkerTools<Tables>>]
  let leases: Eventual<LeaseStore>

  /// - Parameters:
  ///   - alsoGrown: topics besides the inputs whose partitions are counted too.
  ///   - workers: who is told of deliveries and ends.
  init(_ plan: ServicePlan<Tables>, alsoGrown: [String], workers: WorkerList<Tables>) {
    let writer = Self.makeWriter(plan, workers)
    let ends = Self.makeEnds(plan, alsoGrown, workers)
    let counts = CountWriter<Tables>(logger: plan.context.logger.named("counts"))
    (self.writer, self.ends, self.counts) = (writer, ends, counts)
    consumer = Eventual("kafka") { try Self.connect(plan, writer, ends) }
    workerTools = (0..<plan.settings.workers).map { index in
      Eventual("worker-\(index)") { try WorkerTools(plan, counts) }
    }
    leases = Eventual("leases") { try Self.makeLeaseStore(plan) }
  }

  private static func makeWriter(_ plan: ServicePlan<Tables>, _ workers: WorkerList<Tables>) -> KafkaTopicWriter {
    let listener = KafkaTopicWriter.Listener(
      delivered: { receipts in
        for (worker, own) in workers.grouped(receipts) { worker.mailbox.put(.delivered(own)) }
      },
      rebuilt: { for worker in workers.all { worker.mailbox.put(.writerRebuilt) } })
    return KafkaTopicWriter(
      configuration: plan.kafka, topics: plan.service.outputs + plan.service.inputs.map(\.topic) + ["ads.rejected"],
      listener: listener, logger: plan.context.logger.named("producer"), metrics: plan.context.metrics)
  }

  private static func makeEnds(
    _ plan: ServicePlan<Tables>, _ alsoGrown: [String], _ workers: WorkerList<Tables>
  ) -> EndWatcher {
    EndWatcher(
      inputs: plan.service.inputs.map { ($0.topic, $0.isSequenced) }, alsoGrown: alsoGrown, configuration: plan.kafka,
      logger: plan.context.logger.named("ends"), metrics: plan.context.metrics
    ) { partition, end, generation in
      workers.worker(of: partition)?.mailbox.put(.confirmEnd(partition, end, generation: generation))
    }
  }

  /// Waits until the brokers know the topics, for the consumer and for the writer's producer.
  private static func connect(
    _ plan: ServicePlan<Tables>, _ writer: KafkaTopicWriter, _ ends: EndWatcher
  ) throws -> KafkaConsumer {
    let consumer = try KafkaConsumer(
      configuration: plan.kafka, groupID: "handbill-\(plan.name)", topics: plan.service.inputs.map(\.topic))
    try Startup.wait(for: "kafka", context: plan.context) {
      let producing = Eventual("producer") { try writer.start() }
      let reading = Result { () throws(KafkaError) in try ends.readCounts(by: consumer) }
      try producing.value()
      try reading.get()
    }
    return consumer
  }

  private static func makeLeaseStore(_ plan: ServicePlan<Tables>) throws -> LeaseStore {
    let store = LeaseStore(
      schema: Tables.Service.schema, instance: ProcessName.own, configuration: try plan.database(for: "leases"))
    // Where this fails it is tried again when there is something to do.
    try? store.connect()
    return store
  }
}

/// What a worker serves, and reaches PostgreSQL and Kafka by, connected.
struct WorkerTools<Tables: ServiceTables> {
  private static var questionMilliseconds: Int32 { 10_000 }

  let service: Tables.Service
  let store: PostgresPipelineStore<Tables>
  let probe: KafkaTopicProbe
  let memory: PipelineMemory

  /// Where something is away this is tried again when there is something to do.
  init(_ plan: ServicePlan<Tables>, _ counts: CountWriter<Tables>) throws {
    service = plan.service
    memory = plan.settings.memory
    store = PostgresPipelineStore(
      tables: plan.tables, service: plan.service, configuration: try plan.database(),
      insertedRowsMaximum: plan.settings.insertedRowsMaximum, takeCounts: { counts.put($0) })
    probe = try KafkaTopicProbe(configuration: plan.kafka)
    store.connect()
    _ = try? probe.partitionCounts(
      of: service.outputs + service.inputs.map(\.topic), timeoutMilliseconds: Self.questionMilliseconds)
  }
}
