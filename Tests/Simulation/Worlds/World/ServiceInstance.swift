import AdCore
import AdEvents
import Pipeline

/// The reader is the rules that every service runs (``ReaderState``); what they say is done here, and the worker does
/// what it is told when its turn comes.
final class ServiceInstance<Tables: SimulatedTables>: SimulatedInstance {
  typealias Service = Tables.Service
  typealias Pipeline = PartitionPipeline<SimulatedStore<Tables>, SimulatedWriter>

  /// What the worker is told.
  private enum Command {
    case open(Int32, by: PartitionClaim, partitionCount: Int32, generation: UInt64)
    case batch(Int32, InputBatch<Service.Event>, generation: UInt64)
    case close(Int32, generation: UInt64)
  }

  /// A partition at the worker.
  private final class Opening {
    let pipeline: Pipeline
    let generation: UInt64
    /// What a look at the ends saw and has not told yet.
    var seenEnds: [(input: Int, offset: Int64, asked: Timestamp)] = []

    init(pipeline: Pipeline, generation: UInt64) {
      self.pipeline = pipeline
      self.generation = generation
    }
  }

  /// Small, so that batches wait and partitions are paused.
  private static var limits: IntakeLimits {
    IntakeLimits(batchRecordsMaximum: 6, batchBytesMaximum: 1 << 20, lingerMilliseconds: 0)
  }

  private let service: Service
  private let books: Books<Tables>
  let context: InstanceContext
  private let store: SimulatedStore<Tables>
  private var decoder: Service.Decoder
  private var reader: ReaderState
  private var consumer = SimulatedConsumer()
  private var batches: [Int32: InputBatch<Service.Event>] = [:]
  private var commands: [Command] = []
  private var news: [WorkerNews] = []
  private var openings: [Int32: Opening] = [:]
  private(set) var isAtWork = false
  /// Which logs a partition was opened on. A client sees it when a topic was made anew.
  private var incarnations: [Int32: [Int]] = [:]
  /// How many partitions the first input has, as far as is known here.
  private var partitionCount: Int32
  private(set) var assigned: Set<Int32> = []
  /// The epochs of partitions when they were seen to be free.
  private var seenEpochs: [Int32: Int64] = [:]
  /// Its number among all instances of the service.
  private let number: Int32

  init(service: Service, books: Books<Tables>, context: InstanceContext) {
    self.service = service
    self.books = books
    self.context = context
    store = SimulatedStore(books: books, context: context)
    books.memberCount += 1
    number = books.memberCount
    decoder = service.makeDecoder()
    reader = ReaderState(limits: Self.limits)
    partitionCount = context.world.log.partitionCount(service.inputs[0].topic)
  }

  var serviceName: String { Service.name }
  var isDead: Bool { context.isDead }
  var openPartitions: [Int32] { openings.keys.sorted() }

  private var world: World { context.world }
  private var now: Int64 { world.time.milliseconds }

  private func place(_ input: Int, _ partition: Int32) -> LogPlace {
    LogPlace(topic: service.inputs[input].topic, partition: partition)
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
    takeNews()
    let claim = PartitionClaim(owner: number, seenEpoch: seenEpochs[partition] ?? 0)
    perform(reader.ordered(.take([partition: claim]), partitionCount: partitionCount))
    perform(reader.ticked(now: now, member: number, partitionCount: partitionCount))
    obeyCommands(all: true)
  }

  func openLate(_ partition: Int32) {
    guard !assigned.contains(partition), openings[partition] == nil, seenEpochs[partition] != nil else { return }
    open(partition)
  }

  func drop(_ partition: Int32) { perform(reader.ordered(.lose([partition]), partitionCount: partitionCount)) }

  func refreshCounts() { partitionCount = world.log.partitionCount(service.inputs[0].topic) }

  // MARK: The reader

  func work(_ partition: Int32, recordsMaximum: Int) {
    takeNews()
    perform(reader.ticked(now: now, member: number, partitionCount: partitionCount))
    if let offsets = reader.takeAssignment() {
      consumer.assign(offsets, incarnations: incarnations, isKeeping: world.sabotage == .readOn)
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
    perform(
      reader.polled(now: now) { partition in
        batches[partition].map { ($0.records.count, $0.raw.count) } ?? (0, 0)
      })
    obeyCommands(all: !world.isFaulty)
  }

  /// False: the log no longer has what is to be read.
  private func read(_ input: Int, _ partition: Int32, _ limit: Int) -> Bool {
    let place = place(input, partition)
    guard let position = consumer.position(of: partition, input: input) else { return true }
    if world.isFaulty, world.random.chance(30) {
      world.coverage.note(.partitionUnreadable)
      return true
    }
    let log = world.log[place]
    guard position.incarnation == log.incarnation, (log.firstOffset...log.endOffset).contains(position.offset) else {
      return false
    }
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
    batches[partition]?.append(record, input: input, with: &decoder) { [world, context] mark in
      if world.sabotage == .takeAhead, case .number = mark { return .unnumbered }
      guard world.sabotage == .wallClock, case .watermark = mark else { return mark }
      return .watermark(Watermark(time: context.clock.now(), sequence: 0))
    }
  }

  private func takeNews() {
    let told = news
    news = []
    for item in told { perform(reader.told(item, now: now)) }
  }

  private func perform(_ actions: [ReaderAction]) {
    for action in actions {
      switch action {
      case .open(let partition, let claim, let partitionCount, let generation):
        if world.sabotage != .keepCollected || batches[partition] == nil {
          batches[partition] = InputBatch(inputCount: service.inputs.count)
        }
        commands.append(.open(partition, by: claim, partitionCount: partitionCount, generation: generation))
      case .discard(let partition):
        if world.sabotage != .keepCollected { batches[partition] = nil }
      case .handOver(let partition, let generation):
        guard let batch = batches[partition] else { continue }
        batches[partition] = InputBatch(inputCount: service.inputs.count)
        commands.append(.batch(partition, batch, generation: generation))
      case .pause(let partition):
        world.coverage.note(.partitionPaused)
        consumer.pause(partition, true)
      case .resume(let partition):
        if world.sabotage != .neverResume { consumer.pause(partition, false) }
      case .close(let partition, let generation):
        commands.append(.close(partition, generation: generation))
      case .free:
        world.coverage.note(.partitionFreed)
      }
    }
  }

  // MARK: The worker

  /// All that it was told, or what it comes to.
  private func obeyCommands(all: Bool) {
    guard !isAtWork else { return }
    isAtWork = true
    defer { isAtWork = false }
    while !commands.isEmpty, !isDead, all || world.random.chance(850) {
      switch commands.removeFirst() {
      case .open(let partition, let claim, let partitionCount, let generation):
        open(partition, by: claim, partitionCount: partitionCount, generation: generation)
      case .batch(let partition, let batch, let generation):
        guard openings[partition]?.generation == generation else { continue }
        process(batch, of: partition)
      case .close(let partition, let generation):
        openings[partition] = nil
        news.append(.closed(partition, generation: generation))
      }
    }
    takeNews()
  }

  private func process(_ batch: InputBatch<Service.Event>, of partition: Int32) {
    attempt(partition) { opening throws(PipelineError) in
      let summary = try opening.pipeline.process(batch)
      world.coverage.note(.batchHalved, summary.halvings)
      world.coverage.note(.sequenceAhead, summary.outcomes[Int(Outcome.ahead.rawValue)])
      news.append(
        .finishedBatch(partition, nextOffsets: opening.pipeline.nextOffsets, generation: opening.generation))
    }
  }

  private func open(_ partition: Int32, by claim: PartitionClaim, partitionCount: Int32, generation: UInt64) {
    openings[partition] = nil
    let pipeline = Pipeline(
      service: service, partition: partition, partitionCount: partitionCount, store: store, writer: context.writer,
      clock: context.clock)
    context.partitionCounts[partition] = partitionCount
    do throws(PipelineError) {
      let offsets = try pipeline.open(by: claim) { lastOffsets throws(PipelineError) in
        _ = try context.fate(of: .probe)
        return lastOffsets.enumerated().map { input, lastOffset in
          books.begin(partition, input: input, in: world.log[place(input, partition)])
          return world.log.probe(place(input, partition), lastOffset: lastOffset)
        }
      }
      openings[partition] = Opening(pipeline: pipeline, generation: generation)
      incarnations[partition] = service.inputs.indices.map { world.log[place($0, partition)].incarnation }
      news.append(.opened(partition, epoch: pipeline.ownEpoch, offsets: offsets, generation: generation))
    } catch {
      if !world.isFaulty { books.lastError = "\(error)" }
      failed(partition, error, generation: generation)
      // The next look at the tables shows it as it is.
      if error == .fenced { seenEpochs[partition] = books.row(partition).epoch }
      if case .logReplaced(let topic, _, _) = error { acceptLog(of: topic, partition) }
    }
  }

  /// A person looks and accepts the new log.
  private func acceptLog(of topic: String, _ partition: Int32) {
    guard let input = service.inputs.firstIndex(where: { $0.topic == topic }) else { return }
    world.coverage.note(.logReplaced)
    let incarnation = world.log[place(input, partition)].incarnation
    if incarnation == books.row(partition).incarnations[input] {
      world.fail("\(place(input, partition)) is called replaced and is not")
    }
    books.acceptLog(partition, input: input, incarnation: incarnation)
  }

  private func failed(_ partition: Int32, _ error: PipelineError, generation: UInt64) {
    if error.kind.isMistake { world.fail("\(Service.name)[\(partition)]: \(error)") }
    openings[partition] = nil
    news.append(.failed(partition, error, generation: generation))
  }

  /// Runs `body`; whatever it throws ends this opening of the partition.
  private func attempt(_ partition: Int32, _ body: (Opening) throws(PipelineError) -> Void) {
    guard let opening = openings[partition] else { return }
    do throws(PipelineError) {
      try body(opening)
      while opening.pipeline.hasBacklog, !isDead, world.sabotage != .dropRepublishing, world.random.chance(700) {
        try opening.pipeline.continueBacklog()
      }
    } catch {
      failed(partition, error, generation: opening.generation)
    }
    if isDead { openings = [:] }
  }

  func tick(_ partition: Int32) {
    attempt(partition) { opening throws(PipelineError) in _ = try opening.pipeline.tick() }
  }

  func watchEnds(_ partition: Int32) {
    guard let opening = openings[partition] else { return }
    if opening.seenEnds.isEmpty || world.random.chance(300) {
      for (input, declaration) in service.inputs.enumerated() where !declaration.isSequenced {
        let asked = context.clock.now()
        opening.seenEnds.append((input, world.log[place(input, partition)].endOffset, asked))
      }
    }
    if world.isFaulty, world.random.chance(300) {
      world.coverage.note(.staleEnd)
      return
    }
    for end in opening.seenEnds {
      opening.pipeline.confirmEnd(input: end.input, offset: end.offset, asked: end.asked)
    }
    opening.seenEnds = []
  }

  func takeReports(everything: Bool) {
    for receipt in context.writer.takeReports(everything: everything) {
      openings[receipt.partition]?.pipeline.delivered(receipt)
    }
  }

  func tellRebuilt() {
    context.writer.told()
    for partition in openPartitions {
      attempt(partition) { opening throws(PipelineError) in try opening.pipeline.writerRebuilt() }
    }
  }

  func isCaughtUp(_ partition: Int32) -> Bool {
    guard let opening = openings[partition] else { return false }
    let isRead = service.inputs.indices.allSatisfy {
      opening.pipeline.nextOffsets[$0] >= world.log[place($0, partition)].endOffset
    }
    let row = books.row(partition)
    return isRead && !opening.pipeline.hasBacklog && row.outbox.isEmpty
      && row.outputs.allSatisfy { $0.emittedSequence == $0.nextSequence - 1 }
  }
}
