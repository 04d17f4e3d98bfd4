import AdCore
import AdEvents
import TestValues
import Testing

@testable import Pipeline

@Suite("Lost commits: a database that knows less than its topics tell")
struct LostCommitsTests {
  private static func mark(_ timeline: Int = 1, sequence: Int64 = 0, batch: Int64 = 0) -> TimelineMark {
    TimelineMark(timeline: .sample(timeline), sequence: sequence, batch: batch)
  }

  private static func batch(_ timeline: Int, number: Int64, outboxID: Int64 = 0) -> CommittedBatch {
    CommittedBatch(timeline: .sample(timeline), number: number, outboxID: outboxID)
  }

  /// Sequence 5 is the next one, batch 7 was the last, the writer of the input has given 20 in 30 batches.
  private static func partition() -> EchoPartition {
    let partition = EchoPartition()
    partition.store.position.batchNumber = 7
    partition.store.position.outputs = [OutputPosition(nextSequence: 5, confirmedSequence: 4)]
    partition.store.writers = [Echo.numbered: WriterStanding(sequence: 20, batch: 30)]
    return partition
  }

  private static func isCommitsLost(_ error: (any Error)?) -> Bool {
    (error as? PipelineError)?.kind == .commitsLost
  }

  @Test("What a mark says is read back, and nothing else is read")
  func text() {
    let mark = Self.mark(sequence: .max, batch: 3)
    #expect(TimelineMark(mark.text) == mark)
    #expect(TimelineMark(Self.mark(sequence: .max, batch: .max).text)?.text.utf8.count == TimelineMark.byteCountMaximum)
    let id = TimelineID.sample.text
    for text in [
      "", id, "\(id).1", "\(id).1.2.3", "\(id).-1.2", "\(id).1.", "\(id.uppercased()).x.2", "x.1.2", "\(id) .1.2",
    ] {
      #expect(TimelineMark(text) == nil, "\(text)")
    }
    #expect(TimelineID("00000000-0000-4000-8000-00000000000G") == nil)
    #expect(TimelineID("000000000000-4000-8000-000000000000-") == nil)
  }

  @Test("What is published says how far its writer had come when it was sent")
  func published() throws {
    let partition = Self.partition()
    try partition.open()
    try partition.process([(Echo.plain, .publish), (Echo.plain, .publish)])
    #expect(partition.writer.marks == [Self.mark(sequence: 6, batch: 8), Self.mark(sequence: 6, batch: 8)])
    try partition.later(seconds: 1)
    #expect(partition.writer.marks.last == Self.mark(sequence: 6, batch: 8))
  }

  @Test(
    "A topic that tells of what the database knows is opened; one that tells of more, or of another timeline, stops it",
    arguments: [
      (mark(sequence: 4, batch: 7), true), (mark(sequence: 0, batch: 0), true), (mark(sequence: 5, batch: 7), false),
      (mark(sequence: 4, batch: 8), false), (mark(2, sequence: 0, batch: 0), false),
    ] as [(TimelineMark, Bool)])
  func outputs(mark: TimelineMark, isGood: Bool) throws {
    let partition = Self.partition()
    let error = Result { try partition.open(marks: ["echoes": mark]) }.failure
    #expect((error == nil) == isGood && (isGood || Self.isCommitsLost(error)))
    #expect(partition.store.findings.count == (isGood ? 0 : 1))
    #expect(partition.writer.sent.isEmpty || isGood)
  }

  @Test(
    "Nothing is consumed of a topic that tells of more than its writer's rows know",
    arguments: [
      (mark(sequence: 20, batch: 30), true), (mark(sequence: 21, batch: 30), false),
      (mark(sequence: 20, batch: 31), false), (mark(3, sequence: 1, batch: 1), false),
    ] as [(TimelineMark, Bool)])
  func inputs(mark: TimelineMark, isGood: Bool) throws {
    let partition = Self.partition()
    let error = Result { try partition.open(marks: ["numbered": mark]) }.failure
    #expect((error == nil) == isGood && (isGood || Self.isCommitsLost(error)))
  }

  @Test("A batch of an ended timeline may be higher than those of the next one; its sequences may not")
  func endedTimeline() throws {
    let partition = Self.partition()
    partition.store.position.history.timelines = [.sample(1), .sample(2)]
    try partition.open(marks: ["echoes": Self.mark(1, sequence: 4, batch: 1_000)])
    #expect(throws: PipelineError.self) { try partition.open(marks: ["echoes": Self.mark(1, sequence: 5, batch: 1)]) }
  }

  @Test("What this process has committed must still be there, in the same timeline")
  func ownMemory() throws {
    let partition = Self.partition()
    try partition.open(since: Self.batch(1, number: 7))
    try partition.open(since: Self.batch(2, number: 1_000))
    let error = Result { try partition.open(since: Self.batch(1, number: 8)) }.failure
    #expect(Self.isCommitsLost(error))
    #expect(partition.store.findings.count == 1)
  }

  @Test("I3: no entry of the outbox gets the id of a lost one, of which a report may still come")
  func outboxIDs() throws {
    let partition = Self.partition()
    partition.store.position.outboxID = 1
    try partition.open(since: Self.batch(2, number: 9, outboxID: 3))
    try partition.process([(Echo.plain, .forward)])
    #expect(partition.writer.sent.map(\.receipt?.content) == [.outbox(id: 4)])
    #expect(partition.pipeline.committed?.outboxID == 4)
  }

  @Test("A partition that was found to be in need of a person, or of another timeline than its database, stays closed")
  func rows() throws {
    for change in [
      { $0.finding = "found before" }, { $0.ofPartition = .sample(2) }, { $0.timelines = [] },
    ] as [(inout CommitHistory) -> Void] {
      let partition = Self.partition()
      change(&partition.store.position.history)
      #expect(Self.isCommitsLost(Result { try partition.open() }.failure))
      #expect(partition.store.findings.count == (partition.store.position.history.finding == nil ? 1 : 0))
    }
    let same = Self.partition()
    same.store.position.history.ofPartition = .sample(1)
    try same.open()
  }

  @Test("Records of a timeline that nobody knows, or that has ended and is still written in, are not consumed")
  func foreignRecords() throws {
    let partition = Self.partition()
    partition.store.position.history.timelines = [.sample(1), .sample(2)]
    partition.store.position.history.lostSequences = [[], [11..<20]]
    partition.store.writers = [Echo.numbered: WriterStanding(sequence: 26, batch: 30)]
    try partition.open()
    var known = partition.batch([(Echo.numbered, .line("known"))])
    known.note(Self.mark(1, sequence: 19), input: Echo.numbered)
    known.note(Self.mark(2, sequence: 25), input: Echo.numbered)
    _ = try partition.pipeline.process(known)
    #expect(partition.store.lines == ["known"])
    // Of before the timeline in force, though a backup of before that does not know it.
    var older = partition.batch([(Echo.numbered, .line("older"))])
    older.note(Self.mark(4, sequence: 19), input: Echo.numbered)
    _ = try partition.pipeline.process(older)
    for mark in [Self.mark(3, sequence: 20), Self.mark(1, sequence: 20)] {
      var foreign = partition.batch([(Echo.numbered, .line("foreign"))])
      foreign.note(Self.mark(2, sequence: 26), input: Echo.numbered)
      foreign.note(mark, input: Echo.numbered)
      #expect(Self.isCommitsLost(Result { try partition.pipeline.process(foreign) }.failure))
    }
    #expect(partition.store.lines == ["known", "older"])
  }

  @Test("I3: what a writer still sends of lost commits is not consumed, also behind the opening of a partition")
  func sentLater() throws {
    let partition = Self.partition()
    try partition.open(marks: ["numbered": Self.mark(sequence: 20, batch: 30)])
    func process(_ mark: TimelineMark) throws {
      var batch = partition.batch([(Echo.numbered, .line("\(mark.sequence)"))])
      batch.note(Self.mark(), input: Echo.numbered)
      batch.note(mark, input: Echo.numbered)
      _ = try partition.pipeline.process(batch)
    }
    try process(Self.mark(sequence: 20, batch: 30))
    for mark in [Self.mark(sequence: 21, batch: 30), Self.mark(sequence: 20, batch: 31)] {
      #expect(Self.isCommitsLost(Result { try process(mark) }.failure))
    }
    #expect(partition.store.findings.count == 2)
    // It is committed by now.
    partition.store.writers = [Echo.numbered: WriterStanding(sequence: 22, batch: 33)]
    let askedBefore = partition.store.writersAsked
    for sequence in [21, 22] as [Int64] { try process(Self.mark(sequence: sequence, batch: 11 + sequence)) }
    #expect(partition.store.lines == ["20", "21", "22"])
    #expect(partition.store.writersAsked == askedBefore + 1)
    // What was known before the database went back is known no more.
    partition.store.writers = [Echo.numbered: WriterStanding(sequence: 20, batch: 30)]
    try partition.open()
    #expect(Self.isCommitsLost(Result { try process(Self.mark(sequence: 22, batch: 33)) }.failure))
  }

  @Test("I3: nor of a timeline that has ended and had told nothing of the partition by then")
  func sentLaterStill() throws {
    let partition = Self.partition()
    partition.store.position.history.timelines = [.sample(1), .sample(2)]
    partition.store.position.history.lostSequences = [[], []]
    try partition.open()
    for (mark, isGood) in [
      (Self.mark(1, sequence: 20, batch: 1_000), true), (Self.mark(1, sequence: 21, batch: 1), false),
    ] {
      var batch = partition.batch([(Echo.numbered, .line("told"))])
      batch.note(mark, input: Echo.numbered)
      #expect(Self.isCommitsLost(Result { try partition.pipeline.process(batch) }.failure) != isGood)
    }
    #expect(partition.store.lines == ["told"])
  }

  @Test("I3: what was written in a timeline that had ended is never consumed in place of what the next one tells")
  func beyondItsEnd() throws {
    let partition = Self.partition()
    // The first one ended at 11, and somebody went on in it; the second at 30, once a person had accepted that.
    partition.store.position.inputs[Echo.numbered].consumedSequence = 10
    partition.store.position.history = CommitHistory(
      timelines: [.sample(1), .sample(2), .sample(3)], lostSequences: [[], [11..<20, 30..<32]],
      ends: [[:], [.sample(1): 11, .sample(2): 30]])
    partition.store.writers = [Echo.numbered: WriterStanding(sequence: 31, batch: 30)]
    try partition.open()
    let (early, late) = (Timestamp(milliseconds: 2_000), Timestamp(milliseconds: 9_000))
    let records: [(timeline: Int, RecordSequence, Outcome)] = [
      (1, .number(20), .lost), (1, .watermark(Watermark(time: late, sequence: 19)), .lost), (4, .number(20), .lost),
      (2, .number(20), .accepted), (2, .number(21), .accepted), (1, .number(22), .lost),
      // What was gone then may be there again; who writes now tells anew.
      (2, .watermark(Watermark(time: late, sequence: 25, firstLostSequence: 22)), .lost), (2, .number(22), .accepted),
      (2, .watermark(Watermark(time: early, sequence: 22)), .noted),
      (3, .watermark(Watermark(time: early, sequence: 24, firstLostSequence: 23)), .noted),
    ]
    var batch = InputBatch<Echo.Event>(inputCount: 2)
    for (offset, record) in records.enumerated() {
      batch.raw.begin(key: nil, value: nil)
      batch.note(Self.mark(record.timeline, sequence: 25), input: Echo.numbered)
      batch.append(
        InputRecord(
          input: Echo.numbered, offset: Int64(offset), timestamp: 1, arrival: .sample, sequence: record.1,
          event: .line("\(offset)"), contentHash: 0, raw: batch.raw.finish()))
    }
    _ = try partition.pipeline.process(batch)
    #expect(partition.store.lines == ["3", "4", "7"])
    #expect(partition.store.batches.last?.outcomes == records.map(\.2.rawValue))
    let position = try #require(partition.store.batches.last?.inputs[Echo.numbered].position)
    #expect(position.consumedSequence == 24 && position.consumedWatermark == early)
  }

  @Test("Who was fenced when a timeline was begun finds nothing: what he does not know yet is no loss")
  func fenced() throws {
    let partition = Self.partition()
    try partition.open()
    partition.store.position.epoch += 1
    var batch = partition.batch([(Echo.numbered, .line("new"))])
    batch.note(Self.mark(2, sequence: 30), input: Echo.numbered)
    let error = Result { try partition.pipeline.process(batch) }.failure
    #expect((error as? PipelineError) == .fenced)
    #expect(partition.store.findings.isEmpty)
  }

  @Test("A log that ends before what was decided when its end was asked for was cut behind us: the partition stops")
  func cutLog() throws {
    let partition = Self.partition()
    try partition.open()
    try partition.process([(Echo.plain, .line("a")), (Echo.plain, .line("b"))])
    // An old answer: when it was asked for, less was decided.
    try partition.pipeline.confirmEnd(LogEnd(input: Echo.plain, offset: 1, asked: partition.clock.now, decided: 1))
    let error = Result<Void, any Error> {
      try partition.pipeline.confirmEnd(LogEnd(input: Echo.plain, offset: 1, asked: partition.clock.now, decided: 2))
    }.failure
    #expect((error as? PipelineError)?.kind == .logReplaced)
  }

  @Test("Who waits for a person is not ready, and says what is to be done")
  func readiness() {
    var reader = ReaderState(
      limits: IntakeLimits(
        batchRecordsMaximum: 1, batchBytesMaximum: 1, heldBytesMaximum: 1, lingerMilliseconds: 1,
        quietMillisecondsMaximum: 0))
    _ = reader.ordered(.balanced(true), partitionCount: 1)
    _ = reader.ordered(.take([0: PartitionClaim(owner: 1, seenEpoch: 0)]), partitionCount: 1)
    #expect(reader.notReady == "partitions are being taken over")
    _ = reader.told(.failed(0, .logReplaced(topic: "t", partition: 0, detail: ""), generation: 1), now: 0)
    #expect(reader.notReady?.contains("handbill log accept") == true)
    _ = reader.ticked(now: 600_000, member: 1, partitionCount: 1)
    _ = reader.told(.failed(0, .commitsLost(""), generation: 2), now: 600_000)
    #expect(reader.notReady?.contains("handbill restore accept") == true)
    _ = reader.ticked(now: 1_200_000, member: 1, partitionCount: 1)
    _ = reader.told(.opened(0, epoch: 5, offsets: [0], generation: 3), now: 1_200_000)
    #expect(reader.notReady == nil)
  }

  @Test("Sequences of lost commits are stepped over, and whatever has one is not consumed")
  func gate() {
    var position = InputPosition.start
    position.consumedSequence = 8
    var gate = SequenceGate(position, lost: [11..<20, 40..<42])
    let marks: [(RecordSequence, Outcome?, Int64)] = [
      (.number(11), .lost, 8), (.number(9), nil, 9), (.number(12), .lost, 9), (.number(10), nil, 19),
      (.number(10), .duplicate, 19), (.number(18), .lost, 19), (.number(21), .ahead, 19), (.number(20), nil, 20),
    ]
    for (mark, outcome, consumed) in marks {
      #expect(gate.admit(mark) == outcome, "\(mark)")
      #expect(gate.consumedSequence == consumed, "\(mark)")
    }
    position.consumedSequence = 39
    #expect(SequenceGate(position, lost: [11..<20, 40..<42]).consumedSequence == 41)
  }

  @Test("A watermark of lost commits says nothing; the first that names the end of the range holds again")
  func watermarks() {
    var position = InputPosition.start
    position.consumedSequence = 10
    var gate = SequenceGate(position, lost: [11..<20])
    let time = Timestamp(milliseconds: 5_000)
    for sequence in [11, 18] as [Int64] {
      #expect(gate.admit(.watermark(Watermark(time: time, sequence: sequence))) == .lost)
      #expect(gate.consumedWatermark < time)
      #expect(gate.gapRequest(now: time) == nil)
    }
    #expect(gate.admit(.watermark(Watermark(time: time, sequence: 19))) == .noted)
    #expect(gate.consumedWatermark == time)
  }
}

extension Result {
  fileprivate var failure: (any Error)? { if case .failure(let error) = self { error } else { nil } }
}
