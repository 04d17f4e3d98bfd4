import Foundation
import Synchronization
import Testing
import Threads

@Suite("Waiting between threads")
struct WaitingTests {
  @Test("a monitor's wait ends with the change it waits for, and gives its result")
  func monitor() {
    let state = Monitor(0)
    let thread = OwnerThread("a name longer than fifteen bytes") { for _ in 0..<100 { state.update { $0 += 1 } } }
    let found = state.waitForResult(timeoutMilliseconds: 60_000) { $0 == 100 ? $0 : nil }
    #expect(found == 100)
    thread.join()
    #expect(thread.join(timeoutMilliseconds: 0))
  }

  @Test("a monitor's wait ends with its time, by a clock that nobody sets")
  func timeout() {
    let state = Monitor(0)
    let began = MonotonicClock.milliseconds
    #expect(state.waitForResult(timeoutMilliseconds: 20) { $0 > 0 ? true : nil } == nil)
    #expect(!state.wait(timeoutMilliseconds: -1) { $0 > 0 })
    #expect(MonotonicClock.milliseconds - began >= 20)
  }

  @Test("a change under withLock wakes nobody, and is seen by the next try")
  func quietChange() {
    let state = Monitor(0)
    state.withLock { $0 = 1 }
    #expect(state.wait(timeoutMilliseconds: 0) { $0 == 1 })
  }

  @Test("a mailbox gives everything, in order, once; and nothing after its time")
  func mailbox() {
    let mailbox = Mailbox<Int>()
    let thread = OwnerThread("sender") { for number in 0..<1_000 { mailbox.put(number) } }
    var taken: [Int] = []
    while taken.count < 1_000 { taken += mailbox.takeAll(timeoutMilliseconds: 60_000) }
    thread.join()
    #expect(taken == Array(0..<1_000))
    #expect(mailbox.takeAll(timeoutMilliseconds: 1).isEmpty)
  }

  @Test("who only looks into a mailbox does not give up the processor")
  func looking() throws {
    let mailbox = Mailbox<Int>()
    let before = try switches()
    for _ in 0..<10_000 { #expect(mailbox.takeAll(timeoutMilliseconds: 0).isEmpty) }
    #expect(try switches() - before < 1_000)
  }

  /// How often this thread has given up the processor.
  private func switches() throws -> Int {
    let status = try String(contentsOfFile: "/proc/thread-self/status", encoding: .utf8)
    let line = status.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches") }
    return try #require(line.flatMap { Int($0.split(separator: "\t")[1]) })
  }

  @Test("a stop ends every wait for it, at once and later")
  func stop() {
    let stop = StopRequest()
    #expect(!stop.isRequested)
    #expect(!stop.wait(milliseconds: 1))
    let woken = Mutex(0)
    let threads = (0..<3).map { number in
      OwnerThread("waiter-\(number)") {
        if stop.wait(milliseconds: 60_000) { woken.withLock { $0 += 1 } }
      }
    }
    stop.make()
    for thread in threads { thread.join() }
    #expect(woken.withLock { $0 } == 3)
    #expect(stop.wait(milliseconds: 60_000))
    #expect(throws: StopRequest.Stopped.self) { try stop.check() }
    stop.wait()
  }

  @Test("a deadline is over when its time has passed, and one in the past at once")
  func deadline() {
    #expect(Deadline(afterMilliseconds: Int32(-5)).isOver)
    let deadline = Deadline(afterMilliseconds: 60_000)
    #expect(!deadline.isOver)
    #expect((1...60_000).contains(deadline.remainingMilliseconds))
    #expect(Deadline(afterMilliseconds: Int64.max / 2).remainingMilliseconds == .max)
  }
}
