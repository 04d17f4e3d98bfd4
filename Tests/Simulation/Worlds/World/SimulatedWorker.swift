import AdCore
import Pipeline

/// The worker of an instance is the rules that every service runs (``WorkerState``); what they say is done here, when
/// the scheduler lets it.
final class SimulatedWorker<Tables: SimulatedTables> {
  typealias Batch = InputBatch<Tables.Service.Event>
  typealias Pipeline = PartitionPipeline<SimulatedStore<Tables>, SimulatedWriter>

  private let service: Tables.Service
  private let books: Books<Tables>
  private let context: InstanceContext
  private let store: SimulatedStore<Tables>
  private let counts: SimulatedCountWriter<Tables>
  private var state: WorkerState<Batch>
  private(set) var pipelines: [Int32: Pipeline] = [:]
  private var commands: [WorkerCommand<Batch>] = []
  private var events: [WorkerEvent] = []
  private var waiting = WaitingBatches<Tables.Service.Event>()
  /// Batches that a partition was given in succession while its outbox, or its counts, were full.
  private var batchesBeyond: [Int32: Int] = [:]
  private(set) var isAtWork = false
  /// Which logs a partition was opened on. A client sees it when a topic was made anew.
  private(set) var incarnations: [Int32: [Int]] = [:]
  /// What was committed here in partitions that were opened before.
  private var committed: [Int32: CommittedBatch] = [:]
  /// As which owner each partition was opened last, or should have been.
  private var epochs: [Int32: Int64] = [:]

  init(service: Tables.Service, books: Books<Tables>, context: InstanceContext) {
    self.service = service
    self.books = books
    self.context = context
    counts = SimulatedCountWriter(books: books, context: context)
    store = SimulatedStore(books: books, context: context, counts: counts)
    state = WorkerState(now: context.world.time.milliseconds)
  }

  private var world: World { context.world }

  func put(_ command: WorkerCommand<Batch>) { commands.append(command) }

  func takeEvents() -> [WorkerEvent] {
    defer { events = [] }
    return events
  }

  /// Does all that it was told, or what it comes to; publishes some of what waits.
  func work(all: Bool) {
    guard !isAtWork else { return }
    isAtWork = true
    defer { isAtWork = false }
    while !commands.isEmpty, !context.isDead, all || world.random.chance(850) { handle(commands.removeFirst()) }
    processAll()
    while !state.backlog.isEmpty, !context.isDead, world.sabotage != .dropRepublishing, world.random.chance(700) {
      perform(state.backlog)
    }
  }

  /// Counts that wait are written, or some of them.
  func writeCounts() { commands += counts.work().map { .counted($0) } }

  func tick() { perform(state.ticked(now: world.time.milliseconds)) }

  private func handle(_ command: WorkerCommand<Batch>) {
    if case .close = command { processAll() }
    let actions = state.told(command)
    if case .batch = command, actions.isEmpty { world.coverage.note(.batchDropped) }
    perform(actions)
  }

  private func perform(_ actions: [WorkerAction<Batch>]) {
    for action in actions {
      switch action {
      case .open(let partition, let claim, let partitionCount):
        open(partition, by: claim, partitionCount: partitionCount)
      case .process(let partition, let batch):
        waiting.append(batch, of: partition)
      case .confirmEnd(let partition, let end):
        attempt(partition) { pipeline throws(PipelineError) in try pipeline.confirmEnd(end) }
      case .deliver(let receipts):
        for receipt in receipts { pipelines[receipt.partition]?.delivered(receipt) }
        for partition in Set(receipts.map(\.partition)).sorted() { attempt(partition) { _ in } }
      case .counted(let report):
        attempt(report.partition) { pipeline throws(PipelineError) in try pipeline.counted(report) }
      case .adoptWriter:
        guard context.writer.isUntold else { continue }
        context.writer.told()
        perform(state.adoptedWriter())
      case .publishAgain(let partition):
        guard world.sabotage != .neverPublishAgain else { continue }
        attempt(partition) { pipeline throws(PipelineError) in try pipeline.writerRebuilt() }
      case .publishBacklog(let partition):
        attempt(partition) { pipeline throws(PipelineError) in try pipeline.continueBacklog() }
      case .tick(let partition):
        attempt(partition) { pipeline throws(PipelineError) in _ = try pipeline.tick() }
      case .flushCounts(let partition):
        pipelines[partition]?.flushLastCounts()
      case .drop(let partition):
        waiting.drop(partition)
        if let pipeline = pipelines.removeValue(forKey: partition) { committed[partition] = pipeline.committed }
      case .report(let partition, let error, let forPerson):
        hear(error, of: partition, asPerson: forPerson)
      case .tell(let event):
        if case .closed = event, world.sabotage == .closeSilently { continue }
        events.append(event)
      case .measure, .end:
        break
      }
    }
  }

  private func attempt(
    _ partition: Int32, endsBatch: Bool = false, _ body: (Pipeline) throws(PipelineError) -> Void
  ) {
    guard let pipeline = pipelines[partition] else { return }
    do throws(PipelineError) {
      try body(pipeline)
      stands(partition, pipeline, endsBatch: endsBatch)
    } catch {
      if endsBatch, world.sabotage == .workOn {
        stands(partition, pipeline, endsBatch: true)
      } else {
        perform(state.failed(partition, error))
      }
    }
    if context.isDead { pipelines = [:] }
  }

  private func stands(_ partition: Int32, _ pipeline: Pipeline, endsBatch: Bool) {
    var standing = pipeline.standing
    if world.sabotage == .neverWithhold { standing.isFull = false }
    if endsBatch, standing.isFull { world.coverage.note(pipeline.isOutboxFull ? .batchWithheld : .countsFull) }
    if endsBatch, world.sabotage != .forgetWithheld || !standing.isFull { state.finishedBatch(partition) }
    perform(state.stands(partition, standing))
  }

  private func processAll() {
    while true {
      let members = waiting.next()
      if members.isEmpty { return }
      let open = members.compactMap { member in pipelines[member.partition].map { ($0, member.batch) } }
      if open.count > 1 { world.coverage.note(.committedTogether) }
      for (pipeline, _) in open { noteFullness(pipeline) }
      for ((pipeline, _), result) in zip(open, Pipeline.process(open, in: store)) {
        attempt(pipeline.partition, endsBatch: true) { _ throws(PipelineError) in
          let summary = try result.get()
          world.coverage.note(.batchBisected, summary.bisections)
          world.coverage.note(.sequenceAhead, summary.outcomes[Int(Outcome.ahead.rawValue)])
        }
      }
    }
  }

  private func noteFullness(_ pipeline: Pipeline) {
    let partition = pipeline.partition
    batchesBeyond[partition] = pipeline.standing.isFull ? batchesBeyond[partition, default: 0] + 1 : 0
    if batchesBeyond[partition, default: 0] > IntakeLimits.batchesAtWorkerMaximum {
      world.fail("\(Tables.Service.name)[\(partition)] gets more and more while it is full")
    }
  }

  private func open(_ partition: Int32, by claim: PartitionClaim, partitionCount: Int32) {
    let pipeline = Pipeline(
      service: service, partition: partition, partitionCount: partitionCount, store: store, writer: context.writer,
      clock: context.clock)
    pipeline.memory = PipelineMemory(
      outboxBytesMaximum: world.plan.outboxBytesMaximum, countKeysMaximum: world.plan.countKeysMaximum,
      outboxEntriesMaximum: world.plan.outboxEntriesMaximum)
    context.partitionCounts[partition] = partitionCount
    context.openedOn[partition] = world.server
    batchesBeyond[partition] = nil
    do throws(PipelineError) {
      let isBlind = world.sabotage == .ignoreLosses
      let asked = try pipeline.acquire(by: claim, since: isBlind ? nil : committed[partition])
      _ = try context.fate(of: .probe)
      let marks = asked.topics.map { isBlind ? nil : world.lastMark(LogID(topic: $0, partition: partition)) }
      _ = try context.fate(of: .probe)
      let probes = asked.lastOffsets.enumerated().map { input, lastOffset in
        let logID = LogID(topic: service.inputs[input].topic, partition: partition)
        books.begin(partition, input: input, in: world.log[logID])
        return world.log.probe(logID, lastOffset: lastOffset)
      }
      _ = try pipeline.open(knowing: LogAnswers(marks: marks, probes: probes))
      pipelines[partition] = pipeline
      epochs[partition] = pipeline.ownEpoch
      incarnations[partition] = books.inputTopics.map {
        world.log[LogID(topic: $0, partition: partition)].incarnation
      }
      perform(state.opened(partition, epoch: pipeline.ownEpoch, pipeline.standing))
    } catch {
      epochs[partition] = books.row(partition).epoch
      if !world.isFaulty { books.lastError = "\(error)" }
      perform(state.failed(partition, error))
    }
  }

  /// What somebody does who reads the log lines.
  private func hear(_ error: PipelineError, of partition: Int32, asPerson: Bool) {
    if error.kind.isMistake { world.fail("\(Tables.Service.name)[\(partition)]: \(error)") }
    if case .commitsLost = error { world.hearOfLostCommits() }
    guard asPerson, case .logReplaced(let topic, _, let detail) = error,
      let input = books.inputTopics.firstIndex(of: topic)
    else { return }
    world.coverage.note(.logReplaced)
    let logID = LogID(topic: topic, partition: partition)
    let incarnation = world.log[logID].incarnation
    let row = books.row(partition)
    if incarnation == row.incarnations[input] {
      // Whoever was fenced may still speak of the log before; a person finds nothing to accept then.
      if epochs[partition] == row.epoch { world.fail("\(logID) is called replaced and is not: \(detail)") }
      return
    }
    if world.log[logID].keptUntil[books.row(partition).incarnations[input]] != nil { world.coverage.note(.cutLogFound) }
    let offset =
      service.inputs[input].isSequenced
      ? world.log[logID].firstOffset
      : world.log.firstUnread(logID, after: books.row(partition).inputs[input].last)
    books.acceptLog(partition, input: input, incarnation: incarnation, offset: offset, now: world.time.milliseconds)
  }
}
