import AdCore
import AdEvents
import Pipeline

/// The reader is the rules that every service runs (``ReaderState``); what they say is done here, and the worker does
/// what it is told when its turn comes.
final class ServiceInstance<Tables: SimulatedTables>: SimulatedInstance {
  typealias Service = Tables.Service

  private let service: Service
  private let books: Books<Tables>
  let context: InstanceContext
  private let worker: SimulatedWorker<Tables>
  private var records: RecordInput<Service>
  private var reader: ReaderState
  private var consumer = SimulatedConsumer()
  private var batches: [Int32: InputBatch<Service.Event>] = [:]
  /// What a look at the ends saw and has not told yet.
  private var seenEnds: [Int32: [WorkerCommand<InputBatch<Service.Event>>]] = [:]
  /// How many partitions the first input has, as far as is known here.
  private var partitionCount: Int32
  private(set) var assigned: Set<Int32> = []
  /// The epochs of partitions when they were seen to be free.
  private var seenEpochs: [Int32: Int64] = [:]
  /// Its number among all instances of the service.
  private let number: Int32

  init(service: Service, records: RecordInput<Service>, books: Books<Tables>, context: InstanceContext) {
    self.service = service
    self.books = books
    self.context = context
    worker = SimulatedWorker(service: service, books: books, context: context)
    books.memberCount += 1
    number = books.memberCount
    self.records = records
    reader = ReaderState(
      limits: IntakeLimits(
        batchRecordsMaximum: context.world.plan.batchRecordsMaximum, batchBytesMaximum: 1 << 20,
        heldBytesMaximum: context.world.plan.heldBytesMaximum, lingerMilliseconds: 0,
        quietMillisecondsMaximum: context.world.plan.quietMillisecondsMaximum))
    partitionCount = context.world.log.partitionCount(service.inputs[0].topic)
  }

  var serviceName: String { Service.name }
  var isDead: Bool { context.isDead }
  var isAtWork: Bool { worker.isAtWork }
  var openPartitions: [Int32] { worker.pipelines.keys.sorted() }

  private var world: World { context.world }
  private var now: Int64 { world.time.milliseconds }

  private func logID(_ input: Int, _ partition: Int32) -> LogID {
    LogID(topic: service.inputs[input].topic, partition: partition)
  }

  // MARK: Ownership

  func give(_ partition: Int32) {
    assigned.insert(partition)
    seenEpochs[partition] = books.row(partition).epoch
  }

  func take(_ partition: Int32) {
    guard assigned.remove(partition) != nil, world.random.chance(300) else { return }
    let order: LeaseOrder = world.random.chance(500) ? .release([partition]) : .lose([partition])
    perform(reader.ordered(order, partitionCount: partitionCount))
  }

  func open(_ partition: Int32) {
    takeEvents()
    let claim = PartitionClaim(owner: number, seenEpoch: seenEpochs[partition] ?? 0)
    perform(reader.ordered(.take([partition: claim]), partitionCount: partitionCount))
    perform(reader.ticked(now: now, member: number, partitionCount: partitionCount))
    handleCommands(all: true)
  }

  func openLate(_ partition: Int32) {
    guard !assigned.contains(partition), worker.pipelines[partition] == nil, seenEpochs[partition] != nil else {
      return
    }
    open(partition)
  }

  func drop(_ partition: Int32) { perform(reader.ordered(.lose([partition]), partitionCount: partitionCount)) }

  func loseBroker() { if world.sabotage != .readOverCut { reader.connectionLost() } }

  func refreshCounts() { partitionCount = world.log.partitionCount(service.inputs[0].topic) }

  // MARK: The reader

  func work(_ partition: Int32, recordsMaximum: Int) {
    takeEvents()
    perform(reader.ticked(now: now, member: number, partitionCount: partitionCount))
    if let offsets = reader.takeAssignment() {
      consumer.assign(offsets, incarnations: worker.incarnations, isKeeping: world.sabotage == .readOn)
    }
    var order = Array(service.inputs.indices)
    if world.random.chance(500) {
      order.reverse()
      if order.count > 1 { world.coverage.note(.inputsReordered) }
    }
    for input in order where !read(input, partition, recordsMaximum) {
      perform(reader.refused(partition, member: number, partitionCount: partitionCount))
      break
    }
    perform(reader.polled(now: now) { collectedSize($0) })
    if let size = batches[partition]?.size, size.records > 0, !size.hasNews { world.coverage.note(.watermarksWaited) }
    handleCommands(all: !world.isFaulty)
  }

  private func collectedSize(_ partition: Int32) -> CollectedSize {
    var size = batches[partition]?.size ?? .nothing
    // In the end nothing waits: all that was written is to be decided.
    if !world.isFaulty { size.hasNews = true }
    return size
  }

  /// False: the log no longer has what is to be read.
  private func read(_ input: Int, _ partition: Int32, _ limit: Int) -> Bool {
    let logID = logID(input, partition)
    guard let position = consumer.position(of: partition, input: input) else { return true }
    if world.isFaulty, world.random.chance(30) {
      world.coverage.note(.partitionUnreadable)
      return true
    }
    let log = world.log[logID]
    // That a topic was made anew is seen, by its id; that a log was cut is not.
    let isSeenToBeOther = position.incarnation != log.incarnation && log.keptUntil[position.incarnation] == nil
    guard !isSeenToBeOther, (log.firstOffset...log.endOffset).contains(position.offset) else { return false }
    let records = log.records(from: position.offset, limit: limit)
    for record in records { collect(record, partition, input: input) }
    var end = records.last.map { $0.offset + 1 } ?? position.offset
    if records.count < limit, end < log.endOffset {
      end = log.endOffset
      if reader.takesEnd(partition, input: input, offset: end) { batches[partition]?.nextOffsets[input] = end }
    }
    consumer.advance(partition, input: input, to: end)
    return true
  }

  private func collect(_ record: LogRecord, _ partition: Int32, input: Int) {
    guard reader.takes(partition, input: input, offset: record.offset) else { return }
    guard var batch = batches.removeValue(forKey: partition) else { return }
    defer { batches[partition] = batch }
    records.take(record, input: input, into: &batch) { [world, context] sequence in
      if world.sabotage == .takeAhead, case .number = sequence { return .unnumbered }
      guard world.sabotage == .wallClock, case .watermark = sequence else { return sequence }
      return .watermark(Watermark(time: context.clock.now, sequence: 0))
    }
  }

  private func takeEvents() {
    for item in worker.takeEvents() {
      // The next look at the tables shows it as it is.
      if case .failed(let partition, .fenced, _) = item { seenEpochs[partition] = books.row(partition).epoch }
      perform(reader.told(item, now: now))
    }
  }

  private func perform(_ actions: [ReaderAction]) {
    for action in actions {
      switch action {
      case .open(let partition, let claim, let partitionCount, let generation):
        if world.sabotage != .keepCollected || batches[partition] == nil {
          batches[partition] = InputBatch(inputCount: service.inputs.count)
        }
        worker.put(.open(partition, by: claim, partitionCount: partitionCount, generation: generation))
      case .discard(let partition):
        if world.sabotage != .keepCollected { batches[partition] = nil }
      case .handOver(let partition, let generation):
        guard let batch = batches[partition] else { continue }
        batches[partition] = InputBatch(inputCount: service.inputs.count)
        worker.put(.batch(partition, batch, generation: generation))
      case .pause(let partition):
        world.coverage.note(.partitionPaused)
        consumer.pause(partition, true)
      case .resume(let partition):
        if world.sabotage != .neverResume { consumer.pause(partition, false) }
      case .close(let partition, let generation):
        worker.put(.close(partition, generation: generation))
      case .free:
        world.coverage.note(.partitionFreed)
      }
    }
  }

  // MARK: The worker

  private func handleCommands(all: Bool) {
    worker.work(all: all)
    takeEvents()
  }

  func tick() {
    handleCommands(all: !world.isFaulty)
    worker.tick()
    takeEvents()
  }

  func watchEnds(_ partition: Int32) {
    if seenEnds[partition, default: []].isEmpty || world.random.chance(300) {
      seenEnds[partition, default: []] += ends(of: partition)
    }
    if world.isFaulty, world.random.chance(300) {
      world.coverage.note(.staleEnd)
      return
    }
    seenEnds.removeValue(forKey: partition)?.forEach(worker.put)
    handleCommands(all: !world.isFaulty)
  }

  private func ends(of partition: Int32) -> [WorkerCommand<InputBatch<Service.Event>>] {
    guard let progress = reader.progress[partition] else { return [] }
    return service.inputs.indices.filter { !service.inputs[$0].isSequenced }.map { input in
      let end = LogEnd(
        input: input, offset: world.log[logID(input, partition)].endOffset, asked: context.clock.now,
        decided: progress.doneOffsets[input])
      return .confirmEnd(partition, end, generation: progress.generation)
    }
  }

  func takeReports(everything: Bool) {
    let receipts = context.writer.takeReports(everything: everything)
    if !receipts.isEmpty { worker.put(.delivered(receipts)) }
    handleCommands(all: !world.isFaulty)
  }

  func tellRebuilt() {
    worker.put(.writerRebuilt)
    handleCommands(all: !world.isFaulty)
  }

  func writeCounts() {
    worker.writeCounts()
    handleCommands(all: !world.isFaulty)
  }

  func stop() {
    for partition in openPartitions { worker.put(.close(partition, generation: .max)) }
    worker.work(all: true)
    worker.writeCounts()
  }

  func isCaughtUp(_ partition: Int32) -> Bool {
    guard let pipeline = worker.pipelines[partition] else { return false }
    let isRead = service.inputs.indices.allSatisfy {
      pipeline.nextOffsets[$0] >= world.log[logID($0, partition)].endOffset
    }
    let row = books.row(partition)
    return isRead && !pipeline.hasBacklog && row.outbox.isEmpty
      && row.outputs.allSatisfy { $0.confirmedSequence == $0.nextSequence - 1 }
  }
}
