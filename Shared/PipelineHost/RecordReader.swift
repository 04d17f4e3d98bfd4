import AdCore
import Foundation
import Kafka
import Pipeline
import Runtime
import Threads

/// Reads the service's inputs on one thread: decodes records into batches, hands them to the partitions' workers, and
/// takes partitions and gives them up as the leases say.
///
/// The next batch is decoded while the last one commits; a partition whose worker is behind is paused.
final class RecordReader<Tables: ServiceTables>: @unchecked Sendable {
  // `@unchecked Sendable` holds because everything but the news, the flag and the constants is touched by `run`'s
  // thread only.
  typealias Service = Tables.Service

  private let service: Service
  private let inputCount: Int
  private let consumer: KafkaConsumer
  private let workers: [PartitionWorker<Tables>]
  private let settings: PipelineSettings
  private let news: NewsBox
  private let orders: Mailbox<LeaseOrder>
  private let holdings: PartitionHoldings
  private let leases: LeaseKeeper
  private let logger: Logger
  private let ends: EndWatcher
  private let clock = SystemClock()
  private var decoder: Service.Decoder
  private var intakes: [Int32: PartitionIntake<Service>] = [:]
  private var generations: UInt64 = 0
  private var isAssignmentStale = false
  /// Whether this instance has its share of the partitions, and no more.
  private var isSettled = false
  private var nextCommit: Int64 = 0
  private let isStopping = Locked(false)
  private let heartbeat: @Sendable () -> Void
  private let ready: @Sendable (Bool) -> Void

  init(
    service: Service, consumer: KafkaConsumer, workers: [PartitionWorker<Tables>], settings: PipelineSettings,
    boxes: ReaderBoxes, ends: EndWatcher, leases: LeaseKeeper, logger: Logger,
    heartbeat: @escaping @Sendable () -> Void, ready: @escaping @Sendable (Bool) -> Void
  ) {
    self.service = service
    inputCount = service.inputs.count
    self.consumer = consumer
    self.workers = workers
    self.settings = settings
    news = boxes.news
    orders = boxes.orders
    holdings = boxes.holdings
    self.leases = leases
    self.ends = ends
    self.logger = logger
    self.heartbeat = heartbeat
    self.ready = ready
    decoder = service.makeDecoder()
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
    closeAll()
    leases.leave()
    consumer.close(timeoutMilliseconds: IntakeLimits.closeMilliseconds)
  }

  private func step() throws(KafkaError) {
    takeNews()
    obeyLeases()
    reopenWaiting()
    if isAssignmentStale { try assignOpen() }
    let events = try consumer.poll(
      timeoutMilliseconds: pollWait,
      recordsMaximum: min(IntakeLimits.pollRecordsMaximum, settings.batchRecordsMaximum), receive: receive)
    for event in events { try handle(event) }
    takeNews()
    obeyLeases()
    try handOver()
    try commitOffsets()
  }

  private var pollWait: Int32 {
    let now = clock.monotonicMilliseconds
    var wait = IntakeLimits.pollMilliseconds
    for intake in intakes.values where !intake.batch.isEmpty && intake.batchesAtWorker == 0 {
      let rest = intake.batchStarted + Int64(settings.batchLingerMilliseconds) - now
      wait = min(wait, Int32(clamping: max(0, rest)))
    }
    return wait
  }

  // MARK: Records

  private func receive(_ record: borrowing KafkaRecordView) {
    guard record.topicIndex < inputCount, let intake = intakes[record.partition], intake.phase == .open,
      record.offset >= intake.readOffsets[record.topicIndex]
    else { return }
    if intake.batch.isEmpty { intake.batchStarted = clock.monotonicMilliseconds }
    // Only the broker's own time: any other is the client's word, and arrivals move watermarks, which never go back.
    let arrival =
      settings.isBrokerEmbedded || record.timestampType != .logAppendTime
      ? clock.now : Timestamp(milliseconds: record.timestampMilliseconds)
    Self.append(record, arrival: arrival, to: &intake.batch, with: &decoder)
    intake.readOffsets[record.topicIndex] = record.offset + 1
  }

  /// Apart, so that batch and decoder are borrowed once for a record and not once for each header.
  private static func append(
    _ record: borrowing KafkaRecordView, arrival: Timestamp, to batch: inout InputBatch<Service.Event>,
    with decoder: inout Service.Decoder
  ) {
    decoder.begin()
    batch.raw.begin(key: record.key, value: record.value)
    record.forEachHeader { name, value in
      decoder.header(name: name, value: value)
      batch.raw.addHeader(name: name, value: value)
    }
    let identity = RecordIdentity(
      offset: record.offset, timestamp: record.timestampMilliseconds,
      contentHash: RecordContent.hash(key: record.key, value: record.value))
    decoder.decode(
      UndecodedRecord(input: record.topicIndex, arrival: arrival, identity: identity, raw: batch.raw.finish()),
      value: record.value, into: &batch)
  }

  private func handOver() throws(KafkaError) {
    let now = clock.monotonicMilliseconds
    for (partition, intake) in intakes where intake.phase == .open {
      let isFull =
        intake.batch.records.count >= settings.batchRecordsMaximum
        || intake.batch.raw.count >= IntakeLimits.batchBytesMaximum
      let isDue =
        !intake.batch.isEmpty && intake.batchesAtWorker == 0
        && now - intake.batchStarted >= Int64(settings.batchLingerMilliseconds)
      if isDue || isFull && intake.batchesAtWorker < IntakeLimits.batchesAtWorkerMaximum {
        worker(partition).mailbox.put(.batch(partition, intake.takeBatch(), generation: intake.generation))
        if intake.isPaused { try setPaused(partition, false) }
      } else if isFull, !intake.isPaused {
        try setPaused(partition, true)
      }
    }
    news.readerWaits(intakes.values.contains { !$0.batch.isEmpty })
  }

  private func setPaused(_ partition: Int32, _ isPaused: Bool) throws(KafkaError) {
    let list = service.inputs.map { KafkaTopicPartition(topic: $0.topic, partition: partition) }
    if isPaused { try consumer.pause(list) } else { try consumer.resume(list) }
    intakes[partition]?.isPaused = isPaused
  }

  private func commitOffsets() throws(KafkaError) {
    let now = clock.monotonicMilliseconds
    guard now >= nextCommit else { return }
    nextCommit = now + IntakeLimits.commitMilliseconds
    var offsets: [KafkaTopicPartitionOffset] = []
    for (partition, intake) in intakes where intake.phase == .open {
      for (input, offset) in intake.doneOffsets.enumerated() {
        offsets.append(
          KafkaTopicPartitionOffset(topic: service.inputs[input].topic, partition: partition, offset: offset))
      }
    }
    // Advisory only, for lag tools; the position is in the database.
    do throws(KafkaError) { try consumer.commit(offsets: offsets) } catch {
      logger.limited(.debug, key: "commit", "offsets were not committed", ["error": .init(error.description)])
    }
    ends.watch(intakes.filter { $0.value.phase == .open }.mapValues { Watched(done: $0.doneOffsets) })
    reopenGrown()
  }

  // MARK: Assignment

  private func handle(_ event: KafkaConsumerEvent) throws(KafkaError) {
    switch event {
    case .endReached(let input, let partition, let offset):
      // Holes at the log's end (transaction markers) move the position too.
      if intakes[partition]?.phase == .open, (intakes[partition]?.readOffsets[input] ?? .max) < offset {
        intakes[partition]?.batch.nextOffsets[input] = offset
        intakes[partition]?.readOffsets[input] = offset
      }
    case .error(let error):
      if error.isFatal { throw error }
      logger.limited(.warning, key: "kafka-\(error.codeName)", "Kafka says", ["error": .init(error.description)])
      if error.kind == .offsetOutOfRange, let place = error.partition { reopen(place.partition) }
    }
  }

  private func obeyLeases() {
    for order in orders.takeAll(timeoutMilliseconds: 0) {
      switch order {
      case .take(let claims):
        for (partition, claim) in claims where intakes[partition] == nil { open(partition, by: claim) }
      case .release(let partitions):
        for partition in partitions { release(partition) }
      case .lose(let partitions):
        for partition in partitions where intakes[partition]?.phase == .open { drop(partition) }
      case .settled(let isSettled):
        self.isSettled = isSettled
      }
    }
    tellState()
  }

  private func tellState() {
    holdings.phases = intakes.mapValues(\.leasePhase)
    ready(isSettled && intakes.values.allSatisfy { $0.phase == .open })
  }

  private func open(_ partition: Int32, by claim: PartitionClaim) {
    generations += 1
    let count = ends.partitionCount(of: service.inputs[0].topic) ?? intakes[partition]?.partitionCount ?? partition + 1
    let intake = PartitionIntake<Service>(
      inputCount: service.inputs.count, partitionCount: count, claim: claim, generation: generations)
    intake.failures = intakes[partition]?.failures ?? 0
    intakes[partition] = intake
    worker(partition).mailbox.put(.open(partition, by: claim, partitionCount: count, generation: generations))
  }

  /// By the right of the owner that it is.
  private func reopen(_ partition: Int32) {
    guard let intake = intakes[partition], intake.phase != .closing else { return }
    var claim = intake.claim
    isAssignmentStale = true
    claim.owner = holdings.member ?? claim.owner
    open(partition, by: claim)
  }

  /// Nothing more is read of it; what its worker has is finished.
  private func release(_ partition: Int32) {
    guard let intake = intakes[partition], intake.phase != .closing else { return }
    intake.phase = .closing
    isAssignmentStale = true
    worker(partition).mailbox.put(.close(partition, generation: intake.generation))
  }

  /// Somebody else has it.
  private func drop(_ partition: Int32) {
    guard let intake = intakes.removeValue(forKey: partition) else { return }
    isAssignmentStale = true
    worker(partition).mailbox.put(.close(partition, generation: intake.generation))
  }

  /// A partition must not go on with the count that its topic had: it says where requests belong and which partitions a
  /// token may name.
  private func reopenGrown() {
    guard let count = ends.partitionCount(of: service.inputs[0].topic) else { return }
    for (partition, intake) in intakes where intake.phase == .open && intake.partitionCount < count {
      reopen(partition)
    }
  }

  private func reopenWaiting() {
    let now = clock.monotonicMilliseconds
    for (partition, intake) in intakes {
      if case .waiting(let until) = intake.phase, until <= now { reopen(partition) }
    }
  }

  /// Reads all open partitions, each from where it stands.
  private func assignOpen() throws(KafkaError) {
    isAssignmentStale = false
    var places: [KafkaTopicPartitionOffset] = []
    for (partition, intake) in intakes where intake.phase == .open {
      for (input, offset) in intake.readOffsets.enumerated() {
        places.append(
          KafkaTopicPartitionOffset(topic: service.inputs[input].topic, partition: partition, offset: offset))
      }
      intakes[partition]?.isPaused = false
    }
    try consumer.assign(places)
  }

  private func takeNews(timeoutMilliseconds: Int = 0) {
    for item in news.takeAll(timeoutMilliseconds: timeoutMilliseconds) {
      switch item {
      case .opened(let partition, let epoch, let offsets, let generation):
        guard let intake = intakes[partition], intake.generation == generation, intake.phase == .opening else {
          continue
        }
        intake.claim.seenEpoch = epoch
        intake.restart(at: offsets)
        isAssignmentStale = true
      case .finishedBatch(let partition, let offsets, let generation):
        guard intakes[partition]?.generation == generation else { continue }
        intakes[partition]?.batchesAtWorker -= 1
        intakes[partition]?.doneOffsets = offsets
      case .failed(let partition, let error, let generation):
        guard intakes[partition]?.generation == generation else { continue }
        pause(partition, after: error)
      case .closed(let partition, let generation):
        guard intakes[partition]?.generation == generation else { continue }
        intakes[partition] = nil
        tellState()
        leases.ring()
      }
    }
  }

  /// Opens the partition again after a while that grows with its failures; one that somebody else took is his, and
  /// taken again only as the leases say.
  private func pause(_ partition: Int32, after error: PipelineError) {
    guard let intake = intakes[partition], intake.phase != .closing else { return }
    isAssignmentStale = true
    guard error != .fenced else {
      intakes[partition] = nil
      return
    }
    intake.failures += 1
    let shift = min(intake.failures - 1, 7)
    let delay = min(IntakeLimits.reopenMillisecondsMinimum << Int64(shift), IntakeLimits.reopenMillisecondsMaximum)
    intake.phase = .waiting(until: clock.monotonicMilliseconds + delay)
  }

  /// Lets the workers finish what they have, then forgets all partitions.
  private func closeAll() {
    for partition in intakes.keys { release(partition) }
    let deadline = Deadline(afterMilliseconds: 20_000)
    while !intakes.isEmpty, !deadline.isOver { takeNews(timeoutMilliseconds: Int(deadline.remainingMilliseconds)) }
    intakes.removeAll()
    ends.watch([:])
  }

  private func worker(_ partition: Int32) -> PartitionWorker<Tables> {
    workers[Int(partition) % workers.count]
  }
}
