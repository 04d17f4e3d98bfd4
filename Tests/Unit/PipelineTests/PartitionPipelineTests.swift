import AdCore
import AdEvents
import TestValues
import Testing

@testable import Pipeline

@Suite("One partition, whatever its tables and its log hold")
struct PartitionPipelineTests {
  @Test(
    "Sequences whose rows retention took are stepped over: told in their place, recorded, and nothing waits for them",
    arguments: [
      ([], ["lost 3-7"], [3..<8]),
      ([7], ["lost 3-6", "7"], [3..<7]),
      ([3, 5, 6], ["3", "lost 4-4", "5", "6", "lost 7-7"], [4..<5, 7..<8]),
      ([3, 4, 5, 6, 7], ["3", "4", "5", "6", "7"], []),
    ] as [(Set<Int64>, [String], [Range<Int64>])])
  func lostRows(rows: Set<Int64>, sent: [String], lost: [Range<Int64>]) throws {
    let partition = EchoPartition()
    partition.store.position.outputs = [OutputPosition(nextSequence: 8, confirmedSequence: 2)]
    partition.store.rows = rows
    try partition.open()
    while partition.pipeline.hasBacklog {
      let before = partition.writer.sent.count
      try partition.pipeline.continueBacklog()
      try #require(partition.writer.sent.count > before, "it spins")
    }
    #expect(partition.writer.texts == sent)
    #expect(partition.alarms == lost.map { .lostSequences(topic: "echoes", sequences: $0) })
    for (_, receipt) in partition.writer.sent { partition.pipeline.delivered(try #require(receipt)) }
    try partition.later(seconds: 1)
    #expect(partition.store.lostSequences.map(\.sequences) == lost)
    try partition.later(seconds: 1)
    #expect(partition.store.lostSequences.count == lost.count)
  }

  @Test("A state that cannot be taken back is gone before it is loaded again: two of them have no room")
  func reloads() throws {
    let partition = EchoPartition()
    try partition.open()
    try partition.process([(Echo.plain, .line("a")), (Echo.plain, .refused), (Echo.plain, .line("b"))])
    #expect(partition.store.lines == ["a", "b"])
    #expect(partition.store.loadTimes.count > 2 && partition.store.loadsBesideAnother == 0)
  }

  @Test("M4: a state is of now, or of what was decided last where the clock is behind that")
  func loadTimes() throws {
    let partition = EchoPartition()
    try partition.open()
    let now = partition.clock.now
    let watermark = now.advanced(byMilliseconds: 60_000)
    partition.store.position.watermark = watermark
    try partition.open()
    try partition.process([(Echo.plain, .refused)])
    #expect(partition.store.loadTimes.first == now)
    #expect(partition.store.loadTimes.count > 2 && partition.store.loadTimes.dropFirst().allSatisfy { $0 == watermark })
  }

  @Test("I3: holes in the log, however wide, are told byte by byte, in batches of at most so many offsets")
  func wideHoles() throws {
    let partition = EchoPartition()
    try partition.open()
    // Before the first record, between two, behind one of another input, and up to the log's end.
    partition.skip(Echo.plain, offsets: 140_000)
    var batch = partition.batch([(Echo.plain, .line("a"))])
    partition.skip(Echo.plain, offsets: 65_535)
    partition.skip(Echo.numbered, offsets: 10)
    let more = partition.batch([(Echo.plain, .line("b")), (Echo.plain, .refused), (Echo.numbered, .line("n"))])
    for record in more.records { batch.append(record) }
    batch.nextOffsets = [400_000, 11]
    let summary = try partition.pipeline.process(batch)
    #expect(summary.records == 4 && partition.pipeline.nextOffsets == [400_000, 11])
    #expect(Set(partition.store.lines) == ["a", "b", "n"])
    let batches = partition.store.batches
    #expect(batches.allSatisfy { Int64($0.outcomes.count) <= PartitionPipeline<EchoStore, EchoWriter>.offsetsMaximum })
    for input in [Echo.plain, Echo.numbered] {
      var next: Int64 = 0
      var outcomes: [UInt8] = []
      for batch in batches {
        let moved = batch.inputs[input]
        #expect(moved.firstOffset == next)
        let before = input == Echo.plain ? 0 : Int(batch.inputs[0].position.nextOffset - batch.inputs[0].firstOffset)
        let count = Int(moved.position.nextOffset - moved.firstOffset)
        outcomes += batch.outcomes[before..<before + count]
        next = moved.position.nextOffset
      }
      let records = outcomes.indices.filter { outcomes[$0] != Outcome.absent.rawValue }
      #expect(records == (input == Echo.plain ? [140_000, 205_536, 205_537] : [10]))
    }
  }

  @Test("A loss that is not recorded yet is recorded with the next batch")
  func lossWithBatch() throws {
    let partition = EchoPartition()
    partition.store.position.outputs = [OutputPosition(nextSequence: 3, confirmedSequence: 0)]
    try partition.open()
    try partition.process([(Echo.plain, .publish)])
    #expect(partition.store.lostSequences == [LostSequences(output: 0, sequences: 1..<3)])
    #expect(partition.writer.texts == ["lost 1-2", "3"])
  }

  @Test("An end tells that everything is decided where it is our position: not before it, not in a topic made again")
  func confirmedEnds() throws {
    let partition = EchoPartition()
    try partition.open()
    try partition.process(Array(repeating: (Echo.plain, .line("a")), count: 3))
    let asked = partition.clock.now
    for elsewhere in [Int64(0), 2, 4] {
      try partition.pipeline.confirmEnd(LogEnd(input: Echo.plain, offset: elsewhere, asked: asked, decided: 0))
      #expect(partition.pipeline.endsConfirmedAt[Echo.plain] == nil, "an end at \(elsewhere)")
    }
    try partition.pipeline.confirmEnd(LogEnd(input: Echo.plain, offset: 3, asked: asked, decided: 3))
    #expect(partition.pipeline.endsConfirmedAt[Echo.plain] == asked)
  }

  @Test(
    "I7c: services that read each other do not wait for each other's watermarks, nor one for traffic",
    arguments: [false, true])
  func circle(isCircle: Bool) throws {
    var service = Echo()
    service.inputs[Echo.numbered].boundsWatermark = !isCircle
    service.publishesWatermarks = false
    let partition = EchoPartition(service)
    try partition.open()
    try partition.process([(Echo.plain, .line("a"))])
    let arrived = partition.clock.now
    #expect(partition.store.batches.last?.watermark == (isCircle ? arrived : Timestamp(milliseconds: 0)))
    for _ in 0..<2 {
      try partition.later(seconds: 40)
      try partition.pipeline.confirmEnd(LogEnd(input: Echo.plain, offset: 1, asked: partition.clock.now, decided: 1))
      try partition.later(seconds: 1)
    }
    // 82 seconds later: stored once more than a minute had passed, less the 5 s by which clocks may differ.
    #expect(
      partition.pipeline.committedWatermark
        == (isCircle ? arrived.advanced(byMilliseconds: 76_000) : Timestamp(milliseconds: 0)))
  }

  @Test("With too many undelivered entries the outbox is full, until one is delivered")
  func outboxLimit() throws {
    let partition = EchoPartition()
    try partition.open()
    let forwards = Array(repeating: (input: Echo.plain, event: Echo.Event.forward), count: 10_000)
    for batch in 1...PipelineMemory.outboxEntriesMaximum / forwards.count {
      #expect(!partition.pipeline.isOutboxFull, "batch \(batch)")
      try partition.process(forwards)
    }
    #expect(partition.pipeline.isOutboxFull)
    partition.pipeline.delivered(try #require(partition.writer.sent.first?.receipt))
    #expect(!partition.pipeline.isOutboxFull)
  }

  @Test("What the outbox has no room for waits in the database, and each entry is sent once there is room, in order")
  func outboxBytes() throws {
    let partition = EchoPartition()
    partition.pipeline.memory = PipelineMemory(outboxBytesMaximum: 4_000)
    try partition.open()
    #expect(!partition.pipeline.isOutboxFull)
    try partition.process(Array(repeating: (input: Echo.plain, event: Echo.Event.forward), count: 100))
    #expect(partition.pipeline.isOutboxFull)
    #expect(partition.pipeline.memory.outboxBytes.held <= 4_000)
    var delivered = 0
    // A batch that was handed over before: there is room for what it makes, but older entries wait.
    for _ in 0..<5 {
      partition.pipeline.delivered(try #require(partition.writer.sent[delivered].receipt))
      delivered += 1
    }
    try partition.process(Array(repeating: (input: Echo.plain, event: Echo.Event.forward), count: 10))
    while delivered < partition.writer.sent.count {
      partition.pipeline.delivered(try #require(partition.writer.sent[delivered].receipt))
      delivered += 1
      while partition.pipeline.hasBacklog { try partition.pipeline.continueBacklog() }
      #expect(partition.pipeline.memory.outboxBytes.held <= 4_000)
    }
    #expect(delivered == 110)
    #expect(!partition.pipeline.isOutboxFull)
    #expect(partition.pipeline.memory.outboxBytes.held == 0)
    let ids = partition.writer.sent.compactMap { sent -> Int64? in
      if case .outbox(let id)? = sent.receipt?.content { id } else { nil }
    }
    #expect(ids == ids.sorted() && Set(ids).count == 110)
  }

  @Test("A thousand partitions keep no more of their outboxes and counts than one process may")
  func sharedMemory() throws {
    let memory = PipelineMemory(outboxBytesMaximum: 40_000, countKeysMaximum: 2_000)
    let partitions = try (0..<1_000).map { _ in
      let partition = EchoPartition()
      partition.pipeline.memory = memory
      try partition.open()
      return partition
    }
    for partition in partitions {
      try partition.process(Array(repeating: (input: Echo.plain, event: Echo.Event.forward), count: 20))
    }
    #expect(memory.outboxBytes.held <= 40_000)
    // One each goes out, however little there is for each.
    #expect(partitions.allSatisfy { !$0.writer.sent.isEmpty })
    #expect(partitions.allSatisfy { $0.pipeline.counts.keysMaximum == 2 })
  }

  @Test("What a timer makes due and the database refuses is left, with an alarm; everything else goes on")
  func refusedTimer() throws {
    let partition = EchoPartition()
    partition.store.due = Array(0..<10)
    partition.store.refusedTimers = [3, 7]
    try partition.open()
    for round in 0..<60 {
      try partition.later(seconds: 1)
      try partition.process([(Echo.plain, .line("\(round)"))])
    }
    #expect(partition.store.timersDone.sorted() == [0, 1, 2, 4, 5, 6, 8, 9])
    #expect(partition.alarms == Array(repeating: .timerRefused(detail: "a row is refused"), count: 2))
    #expect(partition.store.lines == (0..<60).map { "\($0)" })
  }

  @Test("Offsets that move without a record make no timer's batch")
  func holes() throws {
    let partition = EchoPartition()
    partition.store.due = [1]
    partition.store.refusedTimers = [1]
    try partition.open()
    var batch = InputBatch<Echo.Event>(inputCount: 2)
    batch.nextOffsets[Echo.plain] = 5
    _ = try partition.pipeline.process(batch)
    #expect(partition.pipeline.nextOffsets == [5, 0])
  }

  @Test("A record below the position ends the opening, and nothing traps")
  func belowPosition() throws {
    let partition = EchoPartition()
    try partition.open()
    let batch = partition.batch([(Echo.plain, .line("once"))])
    _ = try partition.pipeline.process(batch)
    let error = #expect(throws: PipelineError.self) { _ = try partition.pipeline.process(batch) }
    #expect(error?.kind == .invariantBroken)
    #expect(partition.store.lines == ["once"])
  }

  @Test(
    "Rows that the database refuses although no record is left out of the batch are a mistake, and no outage",
    arguments: [RowRefusal.duplicate, .refused("a row")])
  func refusedWithoutRecords(_ refusal: RowRefusal) throws {
    let partition = EchoPartition()
    try partition.open()
    partition.store.refusal = refusal
    let batch = partition.batch([(Echo.plain, .line("once"))])
    #expect(#expect(throws: PipelineError.self) { _ = try partition.pipeline.process(batch) }?.kind == .invariantBroken)
    let late = EchoPartition()
    late.store.refusal = refusal
    #expect(#expect(throws: PipelineError.self) { try late.open(firstOffset: 500) }?.kind == .invariantBroken)
  }

  @Test("I3: records that a log had removed before it was first read are recorded as lost")
  func firstOpening() throws {
    let partition = EchoPartition()
    #expect(try partition.open(firstOffset: 500) == [500, 500])
    let lost = try #require(partition.store.batches.first?.lost)
    #expect(lost.map(\.input) == [0, 1])
    #expect(lost.map(\.offsets) == [0..<500, 0..<500])
    #expect(partition.alarms.count == 2)
  }

  @Test("Bytes of rejected records count once against their limit, however often a batch is bisected")
  func rejectionLimit() throws {
    let partition = EchoPartition()
    try partition.open()
    // 62 of the 64 values that a minute may keep.
    let rejected = Array(repeating: (input: Echo.plain, event: Echo.Event.reject), count: 62)
    let summary = try partition.process(
      rejected + [(Echo.plain, .refused)], valueCount: RejectionLimit.bytesPerRecordMaximum)
    #expect(summary.bisections > 1)
    let kept = partition.store.batches.flatMap(\.rejections).filter { $0.value != nil }
    #expect(kept.count == 63)
  }

  @Test("Rejected records beyond their limit make neither rows nor messages: they are counted, and have their outcome")
  func rejectedFlood() throws {
    let partition = EchoPartition()
    try partition.open()
    let most = RejectionLimit.recordsPerMinuteMaximum
    for count in [most - 10, 15] {
      try partition.process(Array(repeating: (input: Echo.plain, event: Echo.Event.reject), count: count))
    }
    let batches = partition.store.batches.suffix(2)
    #expect(batches.map(\.rejections.count) == [most - 10, 10])
    #expect(batches.map(\.rejectedNotKept) == [0, 5])
    #expect(batches.map(\.outbox.count) == [most - 10, 10])
    #expect(batches.last?.outcomes.count { $0 >= RejectionReason.nullValue.rawValue } == 15)
  }

  @Test("I4: a batch's records are decided in an order that its row tells: inputs with sequences first")
  func order() throws {
    let partition = EchoPartition()
    try partition.open()
    try partition.process([
      (Echo.plain, .line("p0")), (Echo.numbered, .line("n0")), (Echo.plain, .line("p1")), (Echo.numbered, .line("n1")),
    ])
    #expect(partition.store.lines == ["n0", "n1", "p0", "p1"])
    let batch = try #require(partition.store.batches.first)
    #expect(batch.inputs.map(\.position.nextOffset) == [2, 2])
  }
}
