internal import AdCore
internal import Crypto
internal import Kafka
internal import Pipeline
internal import Runtime
internal import Threads

/// What a reader serves and works with, besides the workers.
struct ReaderTools<Service: PipelineService> {
  let service: Service
  let settings: PipelineSettings
  let consumer: KafkaConsumer
  let ends: EndWatcher
  let leases: LeaseKeeper
  let boxes: ReaderBoxes
}

/// Reads the service's inputs on one thread: decodes records into batches, and does with them and with the partitions
/// what the rules say (``ReaderState``).
final class RecordReader<Tables: ServiceTables>: @unchecked Sendable {
  // `@unchecked Sendable` holds because everything but the workers' events, the flag and the constants is touched by `run`'s
  // thread only.
  typealias Service = Tables.Service

  private let service: Service
  private let inputCount: Int
  private let consumer: KafkaConsumer
  private let workers: [PartitionWorker<Tables>]
  private let settings: PipelineSettings
  private let workerEvents: WorkerEvents
  private let orders: Mailbox<LeaseOrder>
  private let holdings: PartitionHoldings
  private let leases: LeaseKeeper
  private let logger: Logger
  private let ends: EndWatcher
  private let clock = SystemClock()
  private var records: RecordInput<Service>
  private var state: ReaderState
  /// Of the partitions that this instance has.
  private var batches = OpenBatches<Service.Event>()
  private var nextCommit: Int64 = 0
  private let isStopping = Locked(false)
  private let heartbeat: @Sendable () -> Void
  private let ready: @Sendable (_ notReady: String?) -> Void

  /// - Throws: `CryptoError` where libcrypto lacks what reading the inputs needs.
  init(
    _ tools: ReaderTools<Service>, workers: [PartitionWorker<Tables>], logger: Logger,
    heartbeat: @escaping @Sendable () -> Void, ready: @escaping @Sendable (_ notReady: String?) -> Void
  ) throws(CryptoError) {
    service = tools.service
    inputCount = tools.service.inputs.count
    consumer = tools.consumer
    settings = tools.settings
    workerEvents = tools.boxes.workerEvents
    orders = tools.boxes.orders
    holdings = tools.boxes.holdings
    leases = tools.leases
    ends = tools.ends
    self.workers = workers
    self.logger = logger
    self.heartbeat = heartbeat
    self.ready = ready
    records = try RecordInput(tools.service)
    state = ReaderState(
      limits: IntakeLimits(
        batchRecordsMaximum: settings.batchRecordsMaximum, batchBytesMaximum: ReaderLimits.batchBytesMaximum,
        heldBytesMaximum: ReaderLimits.heldBytesMaximum,
        lingerMilliseconds: Int64(settings.batchLingerMilliseconds),
        quietMillisecondsMaximum: ReaderLimits.quietMillisecondsMaximum))
  }

  /// Ends `run` soon, from any thread.
  func stop() {
    isStopping.withLock { $0 = true }
    consumer.waker.wakeUp()
  }

  /// Reads until stopped; then gives all partitions up, so that others may take them before this process has ended.
  func run() throws(KafkaError) {
    leases.start()
    defer { leases.leave() }
    while !isStopping.withLock({ $0 }) {
      heartbeat()
      try step()
    }
    try closeAll()
    leases.leave()
    consumer.abandon()
  }

  private func step() throws(KafkaError) {
    try takeEvents()
    try handleLeases()
    try perform(
      state.ticked(
        now: clock.monotonicMilliseconds, member: holdings.member, partitionCount: partitionCount))
    try assign()
    let now = clock.monotonicMilliseconds
    let events = try consumer.poll(
      timeoutMilliseconds: Int32(state.waitMilliseconds(now: now, atMost: ReaderLimits.pollMilliseconds)),
      recordsMaximum: min(ReaderLimits.pollRecordsMaximum, settings.batchRecordsMaximum),
      bytesMaximum: ReaderLimits.pollBytesMaximum, receive: receive)
    for event in events { try handle(event) }
    try takeEvents()
    try handleLeases()
    try perform(
      state.polled(now: clock.monotonicMilliseconds) { batches[$0]?.batch.size ?? .nothing })
    workerEvents.readerWaits(state.hasCollected)
    try commitOffsets()
  }

  /// Of the first input, as last seen.
  private var partitionCount: Int32? { ends.partitionCount(of: service.inputs[0].topic) }

  private func perform(_ actions: [ReaderAction]) throws(KafkaError) {
    // A worker opens together what it is given together.
    var openings: [Int: [WorkerCommand<PartitionWorker<Tables>.Batch>]] = [:]
    defer { for (index, commands) in openings { workers[index].mailbox.put(contentsOf: commands) } }
    for action in actions {
      switch action {
      case .open(let partition, let claim, let partitionCount, let generation):
        batches[partition] = OpenBatch(inputCount: inputCount)
        openings[Int(partition) % workers.count, default: []].append(
          .open(partition, by: claim, partitionCount: partitionCount, generation: generation))
      case .discard(let partition):
        batches[partition] = nil
      case .handOver(let partition, let generation):
        guard let batch = batches[partition]?.take() else { continue }
        worker(partition).mailbox.put(.batch(partition, batch, generation: generation))
      case .pause(let partition):
        try consumer.pause(topicPartitions(partition))
      case .resume(let partition):
        try consumer.resume(topicPartitions(partition))
      case .close(let partition, let generation):
        worker(partition).mailbox.put(.close(partition, generation: generation))
      case .free:
        tellState()
        leases.ring()
      }
    }
  }

  private func topicPartitions(_ partition: Int32) -> [KafkaTopicPartition] {
    service.inputs.map { KafkaTopicPartition(topic: $0.topic, partition: partition) }
  }

  private func positions(_ offsets: [Int32: [Int64]]) -> [KafkaTopicPartitionOffset] {
    offsets.flatMap { partition, offsets in
      zip(topicPartitions(partition), offsets).map { KafkaTopicPartitionOffset($0, offset: $1) }
    }
  }

  // MARK: Records

  private func receive(_ record: borrowing KafkaRecordView) {
    guard record.topicIndex < inputCount, let open = batches[record.partition],
      state.takes(record.partition, input: record.topicIndex, offset: record.offset)
    else { return }
    // Only the broker's own time: any other is the client's word, and arrivals move watermarks, which never go back.
    let isStamped = record.timestampType == .logAppendTime && !settings.connections.isBrokerEmbedded
    if !isStamped { noteUnstamped(input: record.topicIndex) }
    let arrival = isStamped ? Timestamp(milliseconds: record.timestampMilliseconds) : clock.now
    Self.append(record, arrival: arrival, to: &open.batch, with: &records)
  }

  /// A topic that clients write was made anew without our settings, as by a broker that makes topics by itself.
  private func noteUnstamped(input: Int) {
    guard !service.inputs[input].isSequenced, !settings.connections.isBrokerEmbedded else { return }
    logger.limited(
      .error, key: "unstamped-\(input)",
      "records count as having arrived when they are read: the topic lacks message.timestamp.type=LogAppendTime; "
        + "'handbill topics create' mends it", ["topic": .text(service.inputs[input].topic)])
  }

  /// Apart, so that both are borrowed once for a record and not once for each header.
  private static func append(
    _ record: borrowing KafkaRecordView, arrival: Timestamp, to batch: inout InputBatch<Service.Event>,
    with records: inout RecordInput<Service>
  ) {
    records.begin(input: record.topicIndex, key: record.key, value: record.value, into: &batch)
    record.forEachHeader { name, value in records.header(name: name, value: value, into: &batch) }
    records.finish(
      partition: record.partition, arrival: arrival, identity: RecordIdentity(record), key: record.key,
      value: record.value, into: &batch)
  }

  private func commitOffsets() throws(KafkaError) {
    let now = clock.monotonicMilliseconds
    guard now >= nextCommit else { return }
    nextCommit = now + ReaderLimits.commitMilliseconds
    let progress = state.progress
    // Advisory only, for lag tools; the position is in the database.
    do throws(KafkaError) { try consumer.commit(offsets: positions(progress.mapValues(\.doneOffsets))) } catch {
      logger.limited(.debug, key: "commit", "offsets were not committed", ["error": .init(error.description)])
    }
    ends.watch(progress)
  }

  // MARK: Assignment

  private func handle(_ event: KafkaConsumerEvent) throws(KafkaError) {
    switch event {
    case .endReached(let input, let partition, let offset):
      if state.takesEnd(partition, input: input, offset: offset) {
        batches[partition]?.batch.nextOffsets[input] = offset
      }
    case .error(let error):
      if error.isFatal { throw error }
      logger.limited(
        .warning, key: "kafka-\(error.codeName)", "Kafka reported an error", ["error": .init(error.description)])
      if error.isConnectionLoss { state.connectionLost() }
      guard error.kind == .offsetOutOfRange, let refused = error.partition else { return }
      try perform(state.refused(refused.partition, member: holdings.member, partitionCount: partitionCount))
    }
  }

  private func handleLeases() throws(KafkaError) {
    for order in orders.takeAll(timeoutMilliseconds: 0) {
      try perform(state.ordered(order, partitionCount: partitionCount))
    }
    tellState()
  }

  private func tellState() {
    holdings.phases = state.phases
    ready(state.notReady)
  }

  /// Reads all open partitions, each from where it stands.
  private func assign() throws(KafkaError) {
    if let offsets = state.takeAssignment() { try consumer.assign(positions(offsets)) }
  }

  private func takeEvents(timeoutMilliseconds: Int = 0) throws(KafkaError) {
    for item in workerEvents.takeAll(timeoutMilliseconds: timeoutMilliseconds) {
      try perform(state.told(item, now: clock.monotonicMilliseconds))
    }
  }

  /// Lets the workers finish what they have, then forgets all partitions.
  private func closeAll() throws(KafkaError) {
    try perform(state.stopped())
    let deadline = Deadline(afterMilliseconds: ReaderLimits.finishMilliseconds)
    while !state.isEmpty, !deadline.isOver {
      try takeEvents(timeoutMilliseconds: Int(deadline.remainingMilliseconds))
    }
    ends.watch([:])
  }

  private func worker(_ partition: Int32) -> PartitionWorker<Tables> {
    workers[Int(partition) % workers.count]
  }
}
