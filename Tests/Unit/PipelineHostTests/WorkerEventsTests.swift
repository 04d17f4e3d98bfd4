import Foundation
import Pipeline
import Synchronization
import Testing

@testable import PipelineHost

@Suite("What workers tell the reader")
struct WorkerEventsTests {
  @Test("A finished batch wakes the reader only while records wait for it; everything else does always")
  func wakes() {
    let wakes = Mutex(0)
    let event = WorkerEvents { wakes.withLock { $0 += 1 } }
    let finished = WorkerEvent.finishedBatch(0, nextOffsets: [1], generation: 1)
    event.tell(finished)
    #expect(wakes.withLock { $0 } == 0)
    event.readerWaits(true)
    event.tell(finished)
    #expect(wakes.withLock { $0 } == 1)
    event.readerWaits(false)
    event.tell(finished)
    #expect(wakes.withLock { $0 } == 1)
    let others: [WorkerEvent] = [
      .opened(0, epoch: 1, offsets: [0], generation: 1), .failed(0, .fenced, generation: 1), .closed(0, generation: 1),
    ]
    for other in others { event.tell(other) }
    #expect(wakes.withLock { $0 } == 1 + others.count)
    #expect(event.takeAll(timeoutMilliseconds: 0).count == 3 + others.count, "nothing told is lost, awake or not")
  }
}
