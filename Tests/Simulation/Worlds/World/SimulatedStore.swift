import AdCore
import AdSelectionCore
import Pipeline
import TestValues

/// One connection of one instance to a service's tables: the twin of the PostgreSQL store.
final class SimulatedStore<Tables: SimulatedTables>: PipelineStore {
  typealias Service = Tables.Service

  private let books: Books<Tables>
  private let context: InstanceContext
  private let countWriter: SimulatedCountWriter<Tables>
  /// The server that it is connected with.
  private var server: Int

  init(books: Books<Tables>, context: InstanceContext, counts: SimulatedCountWriter<Tables>) {
    self.books = books
    self.context = context
    countWriter = counts
    server = context.world.server
  }

  func flush(_ counts: SimulatedCountWriter<Tables>.Flush) { countWriter.put(counts) }

  /// Goes to the tables and back; either way may fail.
  private func call<Value>(
    _ port: PortCall, _ partitions: Int32..., body: () throws(PipelineError) -> Value
  ) throws(PipelineError) -> Value {
    try call(port, partitions, body)
  }

  private func call<Value>(
    _ port: PortCall, _ partitions: [Int32], _ body: () throws(PipelineError) -> Value
  ) throws(PipelineError) -> Value {
    try context.checkServer(&server)
    let isElsewhere = partitions.contains { context.openedOn[$0] != server }
    if port != .acquire, isElsewhere, context.world.sabotage != .stayOpen {
      throw .databaseUnavailable("the partition was opened on another server")
    }
    let fate = try context.fate(of: port)
    let result = try body()
    switch fate {
    case .fine, .crashBefore, .lostBefore:
      return result
    case .crashAfter:
      context.world.coverage.note(port == .commit ? .crashAfterCommit : .crashAfterCall)
      context.isDead = true
      throw .databaseUnavailable("crashed")
    case .lostAfter:
      context.world.coverage.note(port == .commit ? .commitAnswerLost : .connectionLost)
      throw .databaseUnavailable("the connection was lost after \(port)")
    }
  }

  func acquire(_ partition: Int32, by claim: PartitionClaim) throws(PipelineError) -> PartitionPosition {
    try call(.acquire, partition) { () throws(PipelineError) in
      var row = books.row(partition)
      guard row.owner == claim.owner || row.epoch == claim.seenEpoch else {
        context.world.coverage.note(.staleClaimRefused)
        throw .fenced
      }
      let timelines = context.world.timelines
      row.raiseEpoch(at: context.world.time.milliseconds)
      row.owner = claim.owner
      row.timeline = row.timeline ?? timelines.ids.last
      books.partitions[partition] = row
      var outputs = row.outputs
      if context.world.sabotage == .dropRepublishing {
        for output in outputs.indices { outputs[output].confirmedSequence = outputs[output].nextSequence - 1 }
      }
      return PartitionPosition(
        epoch: row.epoch, batchNumber: row.batchNumber, watermark: row.watermark, inputs: row.inputs, outputs: outputs,
        outboxID: row.outboxID, history: history(of: partition, row))
    }
  }

  private func history(of partition: Int32, _ row: PartitionRow) -> CommitHistory {
    let timelines = context.world.timelines
    let lost = books.inputTopics.map { timelines.lost[LogID(topic: $0, partition: partition)] ?? [] }
    return CommitHistory(
      timelines: timelines.ids, ofPartition: row.timeline,
      finding: timelines.findings[TimelineTables.Place(service: books.name, partition: partition)],
      lostSequences: context.world.sabotage == .consumeLost ? [] : lost,
      ends: context.world.sabotage == .consumeLost
        ? [] : books.inputTopics.map { timelines.ends[LogID(topic: $0, partition: partition)] ?? [:] })
  }

  func load(_ partition: Int32, now: Timestamp) throws(PipelineError) -> Service.Decider {
    try call(.load, partition) { () throws(PipelineError) in try books.tables.load(partition, now: now, for: context) }
  }

  func lookUp(_ query: Service.Query, partition: Int32) throws(PipelineError) -> Service.Knowledge {
    try call(.lookUp, partition) { () throws(PipelineError) in books.tables.lookUp(query, partition: partition) }
  }

  private func checkFence(_ row: PartitionRow, epoch: Int64, batchNumber: Int64) throws(PipelineError) {
    guard context.world.sabotage != .skipFence else { return }
    guard row.epoch == epoch, row.batchNumber == batchNumber else {
      context.world.coverage.note(.zombieFenced)
      throw .fenced
    }
  }

  func commit(_ batches: [CommitBatch<Service>]) throws(PipelineError) -> Result<[CommitResult], RowRefusal> {
    if context.world.sabotage == .publishBeforeCommit {
      for message in batches.flatMap({ books.tables.messages(of: $0) }) {
        try? context.writer.send(message.message, receipt: nil)
      }
    }
    return try call(.commit, batches.map(\.partition)) { () throws(PipelineError) in
      for batch in batches { context.world.rebalanceInMidBatch(books.name, batch.partition, from: context) }
      for batch in batches {
        do throws(PipelineError) {
          try checkFence(books.row(batch.partition), epoch: batch.epoch, batchNumber: batch.number - 1)
        } catch {
          guard batches.count > 1 else { throw error }
          return .failure(.refused("one of them is fenced"))
        }
        if let refusal = try violation(of: batch) { return .failure(refusal) }
      }
      return .success(batches.map(apply))
    }
  }

  private func apply(_ batch: CommitBatch<Service>) -> CommitResult {
    var row = books.row(batch.partition)
    if batch.outbox.contains(where: { $0.id <= row.outboxID }) { books.anomalies.append("an outbox id came twice") }
    let timelines = context.world.timelines
    row.batches.append(
      BatchRow(
        number: batch.number, committedAt: batch.committedAt, watermarkBefore: row.watermark,
        watermark: batch.watermark, inputs: batch.inputs, incarnations: row.incarnations, outputs: batch.outputs,
        outcomes: batch.outcomes, lost: batch.lost, partitionCount: context.partitionCounts[batch.partition] ?? 0,
        freshness: context.catalog?.source.state(at: batch.committedAt), heard: context.catalog?.heard,
        consumedBefore: zip(books.inputTopics, row.inputs).map { topic, position in
          timelines.next(position.consumedSequence, in: LogID(topic: topic, partition: batch.partition)) - 1
        }, timelines: timelines, hasRecords: batch.arrivals != nil))
    row.batchNumber = batch.number
    if zip(row.inputs, batch.inputs).contains(where: { before, input in
      !input.isMoved && input.position.consumedSequence > before.consumedSequence
    }) {
      context.world.coverage.note(.runBisected)
    }
    if context.world.sabotage != .forgetPosition || !context.random.chance(100) {
      row.inputs = batch.inputs.map(\.position)
    }
    row.watermark = batch.watermark
    row.outboxID = max(row.outboxID, batch.outbox.last?.id ?? 0)
    row.outputs = batch.outputs.map(\.position)
    row.rejected += batch.rejections.map { (batch.number, $0, row.incarnations[$0.input]) }
    row.outbox += batch.outbox
    note(&row, delivered: batch.deliveredOutbox, gapRequests: batch.gapRequests)
    let result = books.tables.apply(batch, for: context)
    for message in result.messages {
      row.outputs[message.output].nextSequence = max(
        row.outputs[message.output].nextSequence, message.sequence + 1)
    }
    books.partitions[batch.partition] = row
    return result
  }

  private func violation(of batch: CommitBatch<Service>) throws(PipelineError) -> RowRefusal? {
    do throws(PipelineError) {
      guard let refusal = try books.tables.violation(of: batch) else { return nil }
      context.world.coverage.note(refusal == .duplicate ? .oldIDReplayed : .rowRefused)
      return refusal
    } catch {
      books.anomalies.append("\(books.name): \(error.detail)")
      throw error
    }
  }

  private func note(_ row: inout PartitionRow, delivered: [Int64], gapRequests: [GapRequest]) {
    let gone = Set(delivered)
    if !gone.isEmpty { row.outbox.removeAll { gone.contains($0.id) } }
    books.add(gapRequests, to: &row)
    for output in row.outputs where output.confirmedSequence >= output.nextSequence {
      books.anomalies.append("\(books.name): more was confirmed than there is")
    }
  }

  func save(_ checkpoint: Checkpoint) throws(PipelineError) {
    try call(.checkpoint, checkpoint.partition) { () throws(PipelineError) in
      var row = books.row(checkpoint.partition)
      try checkFence(row, epoch: checkpoint.epoch, batchNumber: checkpoint.batchNumber)
      row.watermark = checkpoint.watermark
      for (output, confirmed) in checkpoint.confirmed.enumerated() { row.outputs[output].confirmedSequence = confirmed }
      for (input, time) in checkpoint.consumedWatermarks.enumerated() { row.inputs[input].consumedWatermark = time }
      note(&row, delivered: checkpoint.deliveredOutbox, gapRequests: checkpoint.gapRequests)
      for request in checkpoint.answeredGapRequests {
        context.world.coverage.note(.gapRequestsAnswered)
        var answered = row.answered[request.consumer] ?? row.outputs.map { _ in 0 }
        answered[request.output] = max(answered[request.output], request.number)
        row.answered[request.consumer] = answered
      }
      books.partitions[checkpoint.partition] = row
    }
  }

  func messages(
    partition: Int32, output: Int, from sequence: Int64, limit: Int
  ) throws(PipelineError) -> [NumberedMessage] {
    try call(.messages, partition) { () throws(PipelineError) in
      if context.world.sabotage == .dropRepublishing { return [] }
      let some = context.random.number(1...8)
      return books.tables.messages(partition: partition, output: output, from: sequence, limit: min(limit, some))
    }
  }

  func outbox(_ partition: Int32, after id: Int64, limit: Int) throws(PipelineError) -> [OutboxEntry] {
    try call(.outbox, partition) { () throws(PipelineError) in
      Array(books.row(partition).outbox.filter { $0.id > id }.prefix(limit))
    }
  }

  func writers(_ partition: Int32) throws(PipelineError) -> [Int: WriterStanding] {
    try call(.writers, partition) { () throws(PipelineError) in
      var writers: [Int: WriterStanding] = [:]
      for (input, topic) in books.inputTopics.enumerated() {
        guard let writer = context.world.fleets.first(where: { $0.books.outputTopics.contains(topic) }) else {
          continue
        }
        let row = writer.books.row(partition)
        writers[input] = WriterStanding(sequence: row.outputs[0].nextSequence - 1, batch: row.batchNumber)
      }
      return writers
    }
  }

  func note(finding: String, partition: Int32, epoch: Int64) throws(PipelineError) {
    try call(.checkpoint, partition) { () throws(PipelineError) in
      guard books.row(partition).epoch == epoch else { throw .fenced }
      context.world.timelines.findings[TimelineTables.Place(service: books.name, partition: partition)] = finding
    }
  }

  func gapRequests(_ partition: Int32) throws(PipelineError) -> [ReceivedGapRequest] {
    try call(.gapRequests, partition) { () throws(PipelineError) in
      guard context.world.sabotage != .ignoreMissing, context.world.sabotage != .dropRepublishing else { return [] }
      let row = books.row(partition)
      var requests: [ReceivedGapRequest] = []
      for consumer in books.consumers {
        for request in consumer.partitions[partition]?.gapRequests ?? [] {
          guard let output = books.outputTopics.firstIndex(of: consumer.inputTopics[request.input]),
            request.number > row.answered[consumer.name]?[output] ?? 0
          else { continue }
          requests.append(
            ReceivedGapRequest(
              consumer: consumer.name, number: request.number, output: output, sequence: request.sequence))
        }
      }
      return requests
    }
  }
}
