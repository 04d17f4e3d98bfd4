import AdCore
import AdEvents
import Pipeline

/// What an instance shares with its store and its writer: the world, and whether it still lives.
final class InstanceContext {
  unowned let world: World
  let clock: SkewedClock
  /// The catalogue as the process has read it; nil for services that read none.
  let catalog: CatalogReader?
  var isDead = false
  /// How many partitions the topics had when a partition was opened.
  var partitionCounts: [Int32: Int32] = [:]
  private var producer: SimulatedWriter?

  init(world: World, clock: SkewedClock, catalog: CatalogReader?) {
    self.world = world
    self.clock = clock
    self.catalog = catalog
  }

  var random: SeededRandom {
    get { world.random }
    set { world.random = newValue }
  }

  /// The instance's producer; it lives as long as the instance.
  var writer: SimulatedWriter {
    if let producer { return producer }
    let made = SimulatedWriter(context: self)
    producer = made
    return made
  }

  /// What happens to a call; throws when it does not even get there.
  func fate(of port: PortCall) throws(PipelineError) -> CallFate {
    if isDead { throw .databaseUnavailable("the process is gone") }
    guard world.isFaulty, world.random.chance(world.plan.callFaultPermille) else { return .fine }
    let fate: CallFate = world.random.pick([.crashBefore, .crashAfter, .lostBefore, .lostAfter])
    switch fate {
    case .crashBefore:
      world.coverage.note(.crashBeforeCall)
      isDead = true
      throw .databaseUnavailable("crashed")
    case .lostBefore where port != .send:
      world.coverage.note(.connectionLost)
      let detail = "the connection was lost before \(port)"
      if port == .probe { throw .logUnreadable(detail) }
      throw .databaseUnavailable(detail)
    default:
      return fate
    }
  }
}

/// One process of one service, as the scheduler sees it.
protocol SimulatedInstance: AnyObject {
  var serviceName: String { get }
  var isDead: Bool { get }
  var openPartitions: [Int32] { get }
  /// Its share, whether or not it is open.
  var assigned: Set<Int32> { get }
  var context: InstanceContext { get }

  /// The partition is its from now on: it sees it free.
  func give(_ partition: Int32)
  /// The partition is somebody else's now; it may not know yet.
  func take(_ partition: Int32)
  func open(_ partition: Int32)
  /// Opens what it was given once and is somebody else's now, as a process does that stood still in between.
  func openLate(_ partition: Int32)
  func work(_ partition: Int32, recordsMaximum: Int)
  func tick(_ partition: Int32)
  /// Looks where the inputs end, or tells what an earlier look saw.
  func watchEnds(_ partition: Int32)
  func takeReports(everything: Bool)
  func tellRebuilt()
  func drop(_ partition: Int32)
  func isCaughtUp(_ partition: Int32) -> Bool
  /// Learns how many partitions there are; what is open with another count is opened again.
  func refreshCounts()
}

final class ServiceInstance<Tables: SimulatedTables>: SimulatedInstance {
  typealias Service = Tables.Service
  typealias Pipeline = PartitionPipeline<SimulatedStore<Tables>, SimulatedWriter>

  private final class Opening {
    let pipeline: Pipeline
    var readOffsets: [Int64]
    /// Per input: which log is read. A client sees it when a topic was made anew.
    let incarnations: [Int]
    /// What a look at the ends saw and has not told yet.
    var seenEnds: [(input: Int, offset: Int64, asked: Timestamp)] = []

    init(pipeline: Pipeline, readOffsets: [Int64], incarnations: [Int]) {
      self.pipeline = pipeline
      self.readOffsets = readOffsets
      self.incarnations = incarnations
    }
  }

  private let service: Service
  private let books: Books<Tables>
  let context: InstanceContext
  private let store: SimulatedStore<Tables>
  private var decoder: Service.Decoder
  private var openings: [Int32: Opening] = [:]
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
    partitionCount = context.world.log.partitionCount(service.inputs[0].topic)
  }

  var serviceName: String { Service.name }
  var isDead: Bool { context.isDead }
  var openPartitions: [Int32] { openings.keys.sorted() }

  private var world: World { context.world }

  private func place(_ input: Int, _ partition: Int32) -> LogPlace {
    LogPlace(topic: service.inputs[input].topic, partition: partition)
  }

  func give(_ partition: Int32) {
    assigned.insert(partition)
    seenEpochs[partition] = books.row(partition).epoch
  }

  func take(_ partition: Int32) { assigned.remove(partition) }

  func open(_ partition: Int32) {
    let pipeline = Pipeline(
      service: service, partition: partition, partitionCount: partitionCount, store: store, writer: context.writer,
      clock: context.clock)
    context.partitionCounts[partition] = partitionCount
    do throws(PipelineError) {
      let claim = PartitionClaim(owner: number, seenEpoch: seenEpochs[partition] ?? 0)
      let offsets = try pipeline.open(by: claim) { lastOffsets throws(PipelineError) in
        _ = try context.fate(of: .probe)
        return lastOffsets.enumerated().map { input, lastOffset in
          books.begin(partition, input: input, in: world.log[place(input, partition)])
          return world.log.probe(place(input, partition), lastOffset: lastOffset)
        }
      }
      openings[partition] = Opening(
        pipeline: pipeline, readOffsets: offsets,
        incarnations: service.inputs.indices.map { world.log[place($0, partition)].incarnation })
    } catch {
      if !world.isFaulty { books.lastError = "\(error)" }
      // The next look at the tables shows it as it is.
      if error == .fenced { seenEpochs[partition] = books.row(partition).epoch }
      guard case .logReplaced(let topic, _, _) = error else { return }
      guard let input = service.inputs.firstIndex(where: { $0.topic == topic }) else { return }
      // A person looks and accepts the new log.
      world.coverage.note(.logReplaced)
      let incarnation = world.log[place(input, partition)].incarnation
      if incarnation == books.row(partition).incarnations[input] {
        world.fail("\(place(input, partition)) is called replaced and is not")
      }
      books.acceptLog(partition, input: input, incarnation: incarnation)
    }
  }

  func openLate(_ partition: Int32) {
    guard !assigned.contains(partition), openings[partition] == nil, seenEpochs[partition] != nil else { return }
    open(partition)
  }

  func drop(_ partition: Int32) { openings[partition] = nil }

  func refreshCounts() {
    let count = world.log.partitionCount(service.inputs[0].topic)
    guard count != partitionCount else { return }
    partitionCount = count
    openings = [:]
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
      openings[partition] = nil
    }
    if isDead { openings = [:] }
  }

  func work(_ partition: Int32, recordsMaximum: Int) {
    guard let opening = openings[partition] else { return }
    var batch = InputBatch<Service.Event>(inputCount: service.inputs.count)
    var order = Array(service.inputs.indices)
    if world.random.chance(500) {
      order.reverse()
      if order.count > 1 { world.coverage.note(.inputsReordered) }
    }
    for input in order where !read(input, partition, recordsMaximum, of: opening, into: &batch) {
      openings[partition] = nil
      return
    }
    guard !batch.isEmpty else { return }
    attempt(partition) { opening throws(PipelineError) in
      let summary = try opening.pipeline.process(batch)
      world.coverage.note(.batchHalved, summary.halvings)
      world.coverage.note(.sequenceAhead, summary.outcomes[Int(Outcome.ahead.rawValue)])
    }
  }

  /// False: the log no longer has what is to be read.
  private func read(
    _ input: Int, _ partition: Int32, _ limit: Int, of opening: Opening, into batch: inout InputBatch<Service.Event>
  ) -> Bool {
    let place = place(input, partition)
    if world.isFaulty, world.random.chance(30) {
      world.coverage.note(.partitionUnreadable)
      return true
    }
    let log = world.log[place]
    guard opening.incarnations[input] == log.incarnation,
      (log.firstOffset...log.endOffset).contains(opening.readOffsets[input])
    else { return false }
    let records = log.records(from: opening.readOffsets[input], limit: limit)
    for record in records { append(record, input: input, of: opening, to: &batch) }
    if records.count < limit, opening.readOffsets[input] < log.endOffset {
      // Holes at the log's end move the position too.
      batch.nextOffsets[input] = log.endOffset
      opening.readOffsets[input] = log.endOffset
    }
    return true
  }

  private func append(_ record: LogRecord, input: Int, of opening: Opening, to batch: inout InputBatch<Service.Event>) {
    batch.append(record, input: input, with: &decoder) { [world, context] mark in
      if world.sabotage == .takeAhead, case .number = mark { return .unnumbered }
      guard world.sabotage == .wallClock, case .watermark = mark else { return mark }
      return .watermark(Watermark(time: context.clock.now(), sequence: 0))
    }
    opening.readOffsets[input] = record.offset + 1
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

extension InputBatch {
  /// Appends a record of the log as a reader does.
  ///
  /// - Parameter change: what a sabotaged reader makes of the record's mark.
  mutating func append(
    _ record: LogRecord, input: Int, with decoder: inout some RecordDecoder<Event>,
    change: (SequenceMark) -> SequenceMark = { $0 }
  ) {
    let message = record.message
    let arrival = Timestamp(milliseconds: record.timestamp)
    decoder.begin()
    withOptionalBytes(message.key) { key in withOptionalBytes(message.value) { raw.begin(key: key, value: $0) } }
    for header in message.headers {
      header.name.withUnsafeBytes { name in
        header.value.withUnsafeBytes { value in
          decoder.header(name: name, value: value)
          raw.addHeader(name: name, value: value)
        }
      }
    }
    let decoded = withOptionalBytes(message.value) { decoder.decode(input: input, value: $0, arrival: arrival) }
    append(
      InputRecord(
        input: input, offset: record.offset, timestamp: record.timestamp, arrival: arrival, mark: change(decoded.mark),
        event: decoded.event, contentHash: record.contentHash, raw: raw.finish()))
  }
}

@discardableResult
private func withOptionalBytes<Result>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
  guard let bytes else { return body(nil) }
  // An empty array has no address; an empty value is not a null one.
  return bytes.isEmpty ? body(UnsafeRawBufferPointer(start: nil, count: 0)) : bytes.withUnsafeBytes { body($0) }
}
