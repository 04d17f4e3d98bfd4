import Testing

@testable import Pipeline

@Suite("The rules of the reader")
struct ReaderStateTests {
  private static func opening(_ generation: UInt64, owner: Int32 = 7, epoch: Int64 = 4, count: Int32 = 8)
    -> [ReaderAction]
  {
    [
      .discard(0),
      .open(
        0, by: PartitionClaim(owner: owner, seenEpoch: epoch), partitionCount: count, generation: generation),
    ]
  }

  // MARK: Opening

  @Test("A partition that is taken is opened by its worker; nothing is read before it is open")
  func taken() {
    let reader = Reader()
    #expect(reader.take() == Self.opening(1))
    #expect(reader.take().isEmpty)
    #expect(reader.state.phases == [0: .opening])
    #expect(reader.poll(0).isEmpty)
    #expect(reader.assignment() == [:])
    #expect(reader.tell(.opened(0, epoch: 5, offsets: [10, 20], generation: 1)).isEmpty)
    #expect(reader.state.phases == [0: .open])
    #expect(reader.assignment() == [0: [10, 20]])
    #expect(reader.assignment() == nil)
    #expect(reader.doneOffsets == [0: [10, 20]])
  }

  @Test("Before the count is known a partition is opened with as many as its number needs")
  func unknownCount() {
    let reader = Reader(partitionCount: nil)
    #expect(reader.take() == Self.opening(1, count: 1))
  }

  @Test("A partition that could not be opened waits longer each time, ten seconds at most; an opening ends that")
  func waiting() {
    let reader = Reader()
    _ = reader.take()
    var generation: UInt64 = 1
    func fail(_ delay: Int64) {
      #expect(reader.tell(.failed(0, .databaseUnavailable(""), generation: generation)) == [.discard(0)])
      #expect(reader.state.phases == [0: .opening])
      reader.now += delay - 1
      #expect(reader.tick().isEmpty)
      reader.now += 1
      generation += 1
      #expect(reader.tick() == Self.opening(generation))
    }
    for delay in [100, 200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000] { fail(Int64(delay)) }
    _ = reader.tell(.opened(0, epoch: 9, offsets: [10, 20], generation: generation))
    #expect(reader.tell(.failed(0, .databaseUnavailable(""), generation: generation)) == [.discard(0)])
    reader.now += 100
    #expect(reader.tick(member: 8) == Self.opening(generation + 1, owner: 8, epoch: 9))
  }

  @Test("What somebody else has fenced is forgotten, opening or open, and not opened again")
  func fenced() {
    for isOpen in [false, true] {
      let reader = Reader()
      if isOpen { reader.open() } else { _ = reader.take() }
      #expect(reader.tell(.failed(0, .fenced, generation: 1)) == [.discard(0)])
      #expect(reader.state.isEmpty)
      reader.now += 60_000
      #expect(reader.tick().isEmpty)
    }
  }

  @Test("What is told of an earlier opening counts no more")
  func generations() {
    let reader = Reader()
    reader.open()
    #expect(reader.refuse() == Self.opening(2, epoch: 5))
    #expect(reader.tell(.opened(0, epoch: 5, offsets: [0, 0], generation: 1)).isEmpty)
    #expect(reader.tell(.failed(0, .databaseUnavailable(""), generation: 1)).isEmpty)
    #expect(reader.tell(.closed(0, generation: 1)).isEmpty)
    #expect(reader.state.phases == [0: .opening])
    _ = reader.tell(.opened(0, epoch: 6, offsets: [30, 40], generation: 2))
    #expect(reader.assignment() == [0: [30, 40]])
    _ = reader.tell(.finishedBatch(0, nextOffsets: [1, 1], generation: 1))
    #expect(reader.state.progress == [0: PartitionProgress(generation: 2, doneOffsets: [30, 40])])
  }

  // MARK: Records

  @Test("Each record is collected once, however often it is read")
  func once() {
    let reader = Reader()
    reader.open()
    #expect([9, 10, 11, 10, 11].filter { reader.takes(input: 0, offset: $0) } == [10, 11])
    _ = reader.poll(20, input: 1)
    #expect(reader.assignment() == nil)
    _ = reader.state.refused(3, member: 7, partitionCount: 8)
    reader.open(1, at: [0, 0], generation: 2)
    #expect(reader.poll(12, partition: 5).isEmpty)
  }

  @Test("What comes after a pause is handed over at once; what comes sooner waits, unless it is full")
  func linger() {
    let reader = Reader()
    reader.open()
    #expect(reader.state.waitMilliseconds(now: reader.now, atMost: 100) == 100)
    #expect(reader.poll(10) == [.handOver(0, generation: 1)])
    _ = reader.tell(.finishedBatch(0, nextOffsets: [11, 20], generation: 1))
    #expect(reader.doneOffsets == [0: [11, 20]])
    reader.now += 1
    #expect(reader.poll(11).isEmpty)
    #expect(reader.state.hasCollected)
    #expect(reader.state.waitMilliseconds(now: reader.now, atMost: 100) == 24)
    reader.now += 23
    #expect(reader.poll().isEmpty)
    reader.now += 1
    #expect(reader.state.waitMilliseconds(now: reader.now, atMost: 100) == 0)
    #expect(reader.poll() == [.handOver(0, generation: 1)])
    #expect(!reader.state.hasCollected)
    _ = reader.tell(.finishedBatch(0, nextOffsets: [12, 20], generation: 1))
    #expect(reader.poll(12, 13, 14) == [.handOver(0, generation: 1)])
  }

  @Test("A partition that was opened again waits for nothing")
  func lingerAfterOpening() {
    let reader = Reader()
    reader.open()
    #expect(reader.poll(10) == [.handOver(0, generation: 1)])
    _ = reader.tell(.failed(0, .databaseUnavailable("gone"), generation: 1))
    reader.now += 100
    _ = reader.tick()
    _ = reader.tell(.opened(0, epoch: 6, offsets: [10, 20], generation: 2))
    reader.now -= 90
    #expect(reader.poll(10) == [.handOver(0, generation: 2)])
  }

  @Test("The worker has one batch at work and one more that is full; then the partition is paused until it is done")
  func paused() {
    let reader = Reader()
    reader.open()
    #expect(reader.poll(10, 11, 12) == [.handOver(0, generation: 1)])
    #expect(reader.poll(13).isEmpty)
    reader.now += 1_000
    #expect(reader.poll().isEmpty)
    #expect(reader.state.waitMilliseconds(now: reader.now, atMost: 100) == 100)
    #expect(reader.poll(14, 15) == [.handOver(0, generation: 1)])
    #expect(reader.poll(16, 17, 18) == [.pause(0)])
    #expect(reader.poll().isEmpty)
    _ = reader.tell(.finishedBatch(0, nextOffsets: [13, 20], generation: 1))
    #expect(reader.poll() == [.handOver(0, generation: 1), .resume(0)])
    #expect(reader.poll().isEmpty)
  }

  @Test("A new assignment brings paused partitions too; those that are full are paused again")
  func pausedByAssignment() {
    let reader = Reader()
    reader.open()
    _ = reader.poll(10, 11, 12)
    _ = reader.poll(13, 14, 15)
    #expect(reader.poll(16, 17, 18) == [.pause(0)])
    reader.open(1, at: [0, 0], generation: 2)
    #expect(reader.poll() == [.pause(0)])
  }

  @Test("Holes at the log's end move the position")
  func holes() {
    let reader = Reader()
    reader.open()
    #expect(reader.takesEnd(input: 1, offset: 23))
    #expect(!reader.takesEnd(input: 1, offset: 23))
    #expect(!reader.takesEnd(input: 1, offset: 22))
    #expect(!reader.takes(input: 1, offset: 22))
    #expect(reader.poll() == [.handOver(0, generation: 1)])
    #expect(!reader.takesEnd(3, input: 1, offset: 23))
  }

  // MARK: Opening again

  @Test(
    "After a broker was lost the first record is not collected: the partition is opened again, and its log compared")
  func connectionLost() {
    let reader = Reader()
    reader.open()
    reader.state.connectionLost()
    // Nothing came since: there is nobody to ask.
    #expect(reader.tick().isEmpty)
    #expect(!reader.takes(input: 0, offset: 10))
    #expect(!reader.state.hasCollected)
    // And once more before anything is done about it: what was passed over must come again.
    reader.state.connectionLost()
    #expect(reader.tick() == Self.opening(2, epoch: 5))
    _ = reader.tell(.opened(0, epoch: 6, offsets: [10, 20], generation: 2))
    #expect(reader.takes(input: 0, offset: 10))
    #expect(reader.tick().isEmpty)
    // The end of a log tells as much.
    reader.state.connectionLost()
    #expect(!reader.takesEnd(input: 1, offset: 25))
    #expect(reader.tick() == Self.opening(3, epoch: 6))
  }

  @Test("A log that no longer has what is to be read is looked into again; what was collected is thrown away")
  func refused() {
    let reader = Reader()
    reader.open()
    _ = reader.poll(10)
    #expect(reader.refuse() == Self.opening(2, epoch: 5))
    #expect(reader.refuse().isEmpty)
    #expect(!reader.state.hasCollected)
    #expect(reader.assignment() == [:])
    #expect(!reader.takes(input: 0, offset: 11))
    _ = reader.tell(.opened(0, epoch: 6, offsets: [10, 20], generation: 2))
    #expect(reader.takes(input: 0, offset: 10))
  }

  @Test("An open partition is opened again with the new count when its topic has grown")
  func grown() {
    let reader = Reader()
    reader.open()
    #expect(reader.tick().isEmpty)
    reader.partitionCount = 12
    #expect(reader.tick() == Self.opening(2, epoch: 5, count: 12))
    #expect(reader.tick().isEmpty)
    reader.partitionCount = nil
    #expect(reader.tick().isEmpty)
  }

  @Test("A worker that failed is no longer given anything, and gets the same records after the next opening")
  func failedWhileOpen() {
    let reader = Reader()
    reader.open()
    _ = reader.poll(10, 11, 12)
    _ = reader.tell(.failed(0, .databaseUnavailable(""), generation: 1))
    #expect(reader.poll(13, 14, 15).isEmpty)
    #expect(reader.assignment() == [:])
    reader.now += 100
    #expect(reader.tick() == Self.opening(2, epoch: 5))
    _ = reader.tell(.opened(0, epoch: 6, offsets: [10, 20], generation: 2))
    reader.collected = [:]
    #expect(reader.poll(10, 11, 12) == [.handOver(0, generation: 2)])
  }

  // MARK: Giving up

  @Test("A partition that is given up is read no more, and free once its worker has finished", arguments: 0..<3)
  func released(phase: Int) {
    let reader = Reader()
    if phase == 0 { _ = reader.take() } else { reader.open() }
    if phase == 2 { _ = reader.tell(.failed(0, .databaseUnavailable(""), generation: 1)) }
    #expect(reader.order(.release([0, 3])) == [.discard(0), .close(0, generation: 1)])
    #expect(reader.order(.release([0])).isEmpty)
    #expect(reader.order(.lose([0])).isEmpty)
    #expect(reader.take().isEmpty)
    #expect(reader.state.phases == [0: .closing])
    #expect(reader.poll(10, 11, 12).isEmpty)
    #expect(reader.tell(.opened(0, epoch: 5, offsets: [10, 20], generation: 1)).isEmpty)
    #expect(reader.tell(.failed(0, .databaseUnavailable(""), generation: 1)).isEmpty)
    #expect(reader.tell(.failed(0, .fenced, generation: 1)).isEmpty)
    reader.now += 60_000
    #expect(reader.tick().isEmpty)
    #expect(reader.state.phases == [0: .closing])
    #expect(reader.tell(.closed(0, generation: 1)) == [.discard(0), .free(0)])
    #expect(reader.state.isEmpty)
  }

  @Test("What others have taken is forgotten at once; while it is opened, the fence says so")
  func lost() {
    let reader = Reader()
    _ = reader.take()
    #expect(reader.order(.lose([0])).isEmpty)
    _ = reader.tell(.opened(0, epoch: 5, offsets: [10, 20], generation: 1))
    #expect(reader.order(.lose([0])) == [.discard(0), .close(0, generation: 1)])
    #expect(reader.state.isEmpty)
    #expect(reader.take() == Self.opening(2))
    #expect(reader.tell(.closed(0, generation: 1)).isEmpty)
    #expect(reader.state.phases == [0: .opening])
  }

  @Test("Ready is who has its quota and works on all of it")
  func ready() {
    let reader = Reader()
    #expect(!reader.state.isReady)
    _ = reader.order(.balanced(true))
    #expect(reader.state.isReady)
    _ = reader.take()
    #expect(!reader.state.isReady)
    _ = reader.tell(.opened(0, epoch: 5, offsets: [10, 20], generation: 1))
    #expect(reader.state.isReady)
    _ = reader.order(.balanced(false))
    #expect(!reader.state.isReady)
  }

  @Test("At the end everything is given up in order")
  func stopped() {
    let reader = Reader()
    reader.open()
    _ = reader.take(2)
    #expect(
      reader.stop() == [.discard(0), .close(0, generation: 1), .discard(2), .close(2, generation: 2)])
    _ = reader.tell(.closed(0, generation: 1))
    _ = reader.tell(.closed(2, generation: 2))
    #expect(reader.state.isEmpty)
  }
}
