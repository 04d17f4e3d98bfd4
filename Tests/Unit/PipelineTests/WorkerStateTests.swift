import AdCore
import Testing

@testable import Pipeline

/// One worker that begins at 0 ms; a batch is a word.
private final class Worker {
  var state = WorkerState<String>(now: 0)

  static let claim = PartitionClaim(owner: 7, seenEpoch: 4)
  static let room = PartitionStanding(nextOffsets: [10], isFull: false, hasBacklog: false)
  static let full = PartitionStanding(nextOffsets: [13], isFull: true, hasBacklog: false)
  static let behind = PartitionStanding(nextOffsets: [10], isFull: false, hasBacklog: true)

  // What the tests expect of is called through these: a macro cannot change a value in its place.
  func tell(_ command: WorkerCommand<String>) -> [WorkerAction<String>] { state.told(command) }
  func tick(_ now: Int64) -> [WorkerAction<String>] { state.ticked(now: now) }
  func fail(_ error: PipelineError) -> [WorkerAction<String>] { state.failed(0, error) }
  func opened(_ partition: Int32 = 0) -> [WorkerAction<String>] { state.opened(partition, epoch: 5, Self.room) }
  func stands(_ standing: PartitionStanding, _ partition: Int32 = 0) -> [WorkerAction<String>] {
    state.stands(partition, standing)
  }
  func adopt() -> [WorkerAction<String>] { state.adoptedWriter() }

  func begin(_ partition: Int32 = 0, generation: UInt64 = 1) -> [WorkerAction<String>] {
    state.told(.open(partition, by: Self.claim, partitionCount: 8, generation: generation))
  }

  /// Told to open the partition, and it is open.
  func open(_ partition: Int32 = 0, generation: UInt64 = 1, standing: PartitionStanding = room) {
    _ = begin(partition, generation: generation)
    _ = state.opened(partition, epoch: 5, standing)
  }

  /// The partition waits for a person.
  func stop(_ partition: Int32 = 0, generation: UInt64 = 1) {
    _ = begin(partition, generation: generation)
    _ = state.failed(partition, .logReplaced(topic: "t", partition: partition, detail: ""))
  }

  func batch(generation: UInt64 = 1) -> [WorkerAction<String>] {
    state.told(.batch(0, "batch", generation: generation))
  }

  func finish(_ standing: PartitionStanding) -> [WorkerAction<String>] {
    state.finishedBatch(0)
    return state.stands(0, standing)
  }

  /// Whether nothing is done for the partition, whatever comes.
  func isIdle(generation: UInt64 = 1) -> Bool {
    batch(generation: generation).isEmpty && state.adoptedWriter().isEmpty && state.backlog.isEmpty
      && state.ticked(now: .max - 10_000) == [.measure] && finish(Self.room).isEmpty
  }
}

@Suite("The rules of the worker")
struct WorkerStateTests {
  private static let errors: [PipelineError] = [
    .fenced, .databaseUnavailable(""), .databaseMisconfigured(""), .logUnreadable(""), .producerUnavailable(""),
    .notOpen, .invariantBroken(""), .logReplaced(topic: "t", partition: 0, detail: ""), .commitsLost(""),
  ]

  private static func finished(_ offset: Int64, generation: UInt64 = 1) -> WorkerAction<String> {
    .tell(.finishedBatch(0, nextOffsets: [offset], generation: generation))
  }

  // MARK: Opening

  @Test("A partition is opened by a new pipeline; until it is open nothing is done with it")
  func opening() {
    let worker = Worker()
    #expect(worker.begin() == [.drop(0), .open(0, by: Worker.claim, partitionCount: 8)])
    #expect(worker.isIdle())
    #expect(worker.state.openCount == 0)
    let event = WorkerEvent.opened(0, epoch: 5, offsets: [10], generation: 1)
    #expect(worker.opened() == [.tell(event)])
    #expect(worker.state.openCount == 1)
    #expect(worker.opened().isEmpty)
    #expect(worker.opened(1).isEmpty)
  }

  @Test("What is open is opened anew: its pipeline goes first, and with it what it was given")
  func openedAnew() {
    let worker = Worker()
    worker.open()
    #expect(worker.finish(Worker.full).isEmpty)
    #expect(worker.begin(generation: 2).first == .drop(0))
    #expect(worker.state.openCount == 0)
    #expect(worker.isIdle(generation: 2))
    #expect(worker.opened().count == 1)
    #expect(worker.batch(generation: 1).isEmpty)
    #expect(worker.batch(generation: 2) == [.process(0, "batch")])
  }

  // MARK: Batches

  @Test("A batch of this opening is decided, and the reader hears where it ended")
  func batches() {
    let worker = Worker()
    worker.open(generation: 3)
    #expect(worker.batch(generation: 3) == [.process(0, "batch")])
    #expect(worker.finish(Worker.room) == [Self.finished(10, generation: 3)])
    #expect(worker.stands(Worker.room).isEmpty)
  }

  @Test("A batch of another opening, or of a partition that is not open, is dropped")
  func dropped() {
    let worker = Worker()
    #expect(worker.batch().isEmpty)
    worker.open(generation: 3)
    #expect(worker.batch(generation: 2).isEmpty)
    #expect(worker.batch(generation: 4).isEmpty)
    #expect(worker.tell(.batch(1, "batch", generation: 3)).isEmpty)
  }

  @Test("While the outbox is full the reader does not hear of finished batches; then it hears of each")
  func withheld() {
    let worker = Worker()
    worker.open()
    #expect(worker.finish(Worker.full).isEmpty)
    #expect(worker.finish(Worker.full).isEmpty)
    #expect(worker.stands(Worker.full).isEmpty)
    #expect(worker.stands(Worker.room) == [Self.finished(10), Self.finished(10)])
    #expect(worker.stands(Worker.room).isEmpty)
    #expect(worker.finish(Worker.full).isEmpty)
    #expect(worker.finish(Worker.room) == [Self.finished(10), Self.finished(10)])
  }

  @Test("What was withheld in an earlier opening is not told in the next one")
  func withheldBefore() {
    let worker = Worker()
    worker.open()
    #expect(worker.finish(Worker.full).isEmpty)
    _ = worker.fail(.databaseUnavailable(""))
    worker.open(generation: 2, standing: Worker.full)
    #expect(worker.stands(Worker.room).isEmpty)
  }

  // MARK: Errors

  @Test(
    "Every error ends the opening; no waiting mends our mistakes, a database that is set up wrong, and a log made anew or lost commits, which stop the partition"
  )
  func errors() {
    #expect(Set(Self.errors.map(\.kind)) == Set(PipelineError.Kind.allCases))
    for error in Self.errors {
      let isStopped = error.kind == .logReplaced || error.kind == .commitsLost
      let forPerson = isStopped || [.notOpen, .invariantBroken, .databaseMisconfigured].contains(error.kind)
      for isOpen in [false, true] {
        let worker = Worker()
        if isOpen { worker.open(generation: 3, standing: Worker.behind) } else { _ = worker.begin(generation: 3) }
        // Another member has what was fenced: there is nothing to say of it.
        let reports: [WorkerAction<String>] =
          error == .fenced ? [] : [.report(0, error, forPerson: forPerson)]
        #expect(worker.fail(error) == [.drop(0)] + reports + [.tell(.failed(0, error, generation: 3))])
        #expect(worker.state.openCount == 0)
        #expect(worker.state.stoppedCount == (error.kind == .logReplaced ? 1 : 0))
        #expect(worker.state.commitsLostCount == (error.kind == .commitsLost ? 1 : 0))
        #expect(worker.state.waitMilliseconds(now: 0) == 1_000)
        #expect(worker.isIdle(generation: 3))
        #expect(worker.fail(error).isEmpty)
        #expect(worker.opened().isEmpty)
      }
    }
  }

  @Test("A partition that waits for a person is tried again: it stops again, is open, or fails otherwise")
  func stopped() {
    let worker = Worker()
    worker.stop()
    worker.stop(generation: 2)
    #expect(worker.state.stoppedCount == 1)
    worker.open(generation: 3)
    #expect((worker.state.openCount, worker.state.stoppedCount) == (1, 0))
    worker.stop(generation: 4)
    _ = worker.begin(generation: 5)
    _ = worker.fail(.databaseUnavailable(""))
    #expect(worker.state.stoppedCount == 0)
    #expect(worker.fail(.fenced).isEmpty)
  }

  // MARK: Giving up

  @Test("What is closed is forgotten in every phase, and the reader hears of it, also of what was not there")
  func closed() {
    let workers = (0..<4).map { _ in Worker() }
    _ = workers[1].begin()
    workers[2].open(standing: Worker.behind)
    workers[3].stop()
    for worker in workers {
      #expect(worker.tell(.close(0, generation: 1)) == [.flushCounts(0), .drop(0), .tell(.closed(0, generation: 1))])
      #expect((worker.state.openCount, worker.state.stoppedCount) == (0, 0))
      #expect(worker.isIdle())
    }
  }

  @Test("A close of an earlier opening changes nothing")
  func closedBefore() {
    let worker = Worker()
    worker.open(generation: 2)
    #expect(worker.tell(.close(0, generation: 1)).isEmpty)
    #expect(worker.batch(generation: 2) == [.process(0, "batch")])
  }

  @Test("After the stop nothing is done any more")
  func ended() {
    let worker = Worker()
    worker.open(standing: Worker.behind)
    #expect(!worker.state.isEnded)
    #expect(worker.tell(.stop) == [.end])
    #expect(worker.state.isEnded)
    #expect(worker.begin().isEmpty)
    #expect(worker.tell(.close(0, generation: 1)).isEmpty)
    #expect(worker.tell(.writerRebuilt).isEmpty)
    #expect(worker.tick(5_000).isEmpty)
    #expect(worker.batch().isEmpty)
    #expect(worker.state.backlog.isEmpty)
  }

  // MARK: Publishing and time

  @Test("Everything open is ticked once a second, counted from the last time, and its watermark measured")
  func ticks() {
    let worker = Worker()
    for partition in [3, 1, 2] as [Int32] { worker.open(partition) }
    _ = worker.begin(4)
    worker.stop(5)
    #expect(worker.state.waitMilliseconds(now: 400) == 600)
    #expect(worker.tick(999).isEmpty)
    #expect(worker.tick(1_200) == [.tick(1), .tick(2), .tick(3), .measure])
    #expect(worker.tick(2_199).isEmpty)
    #expect(worker.state.waitMilliseconds(now: 2_300) == 0)
    #expect(worker.tick(2_200).count == 4)
  }

  @Test("What is committed and not sent goes out part by part, and nothing is waited for before it has")
  func backlog() {
    let worker = Worker()
    worker.open(2, standing: Worker.behind)
    worker.open(1, standing: Worker.behind)
    worker.open(3)
    #expect(worker.state.waitMilliseconds(now: 0) == 0)
    #expect(worker.state.backlog == [.publishBacklog(1), .publishBacklog(2)])
    _ = worker.stands(Worker.room, 1)
    #expect(worker.state.backlog == [.publishBacklog(2)])
    _ = worker.stands(Worker.full, 2)
    #expect(worker.state.backlog.isEmpty)
    #expect(worker.state.waitMilliseconds(now: 0) == 1_000)
  }

  @Test("When the producer was made anew, each open partition sends again what the older one may have lost")
  func writerRebuilt() {
    let worker = Worker()
    worker.open(2)
    worker.open(1)
    worker.stop(3)
    #expect(worker.tell(.writerRebuilt) == [.adoptWriter])
    #expect(worker.adopt() == [.publishAgain(1), .publishAgain(2)])
  }

  @Test("Pipelines hear what was delivered")
  func passedOn() {
    let worker = Worker()
    let receipts = [Receipt(partition: 0, content: .outbox(id: 1))]
    #expect(worker.tell(.delivered(receipts)) == [.deliver(receipts)])
  }

  @Test("A pipeline hears where a log ended that was asked for since it was opened, whatever the clock says")
  func ends() {
    let worker = Worker()
    let end = LogEnd(input: 1, offset: 2, asked: Timestamp(milliseconds: 1), decided: 1)
    worker.open(0, generation: 1)
    #expect(worker.tell(.confirmEnd(0, end, generation: 1)) == [.confirmEnd(0, end)])
    // A person has accepted another log in its place.
    worker.stop(0)
    #expect(worker.tell(.confirmEnd(0, end, generation: 1)).isEmpty)
    worker.open(0, generation: 2)
    #expect(worker.tell(.confirmEnd(0, end, generation: 1)).isEmpty)
    #expect(worker.tell(.confirmEnd(0, end, generation: 2)) == [.confirmEnd(0, end)])
  }
}
