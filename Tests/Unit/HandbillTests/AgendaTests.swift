import AdClient
import Testing
import Threads

@testable import Handbill

@Suite("What simulated devices will do")
struct AgendaTests {
  /// A step that would be due long after the test.
  private static var later: MonotonicTime { DeviceClock.monotonic.advanced(byMilliseconds: 600_000) }

  @Test("a step that is added while the agenda waits for a later one is done when it is due")
  func sooner() {
    let agenda = Agenda()
    let done = Monitor<[String]>([])
    agenda.add(at: Self.later) { done.update { $0.append("later") } }
    let thread = OwnerThread("agenda") { agenda.run() }
    for name in ["first", "second"] {
      let due = DeviceClock.monotonic.advanced(byMilliseconds: 20)
      agenda.add(at: due) { done.update { $0.append(name) } }
      let isDone = done.wait(timeoutMilliseconds: 60_000) { $0.last == name }
      #expect(isDone && DeviceClock.monotonic >= due)
    }
    agenda.close()
    thread.join()
    #expect(done.withLock { $0 } == ["first", "second"])
  }

  @Test("at its end, what is on its way arrives at once and in order, and what users would have done is not done")
  func close() {
    let agenda = Agenda()
    let done = Monitor<[String]>([])
    func note(_ name: String) -> @Sendable () -> Void { { done.update { $0.append(name) } } }
    agenda.add(at: Self.later.advanced(byMilliseconds: 1), isOnItsWay: true, note("second view"))
    agenda.add(at: Self.later, note("tap"))
    agenda.add(at: Self.later, isOnItsWay: true, note("view"))
    let thread = OwnerThread("agenda") { agenda.run() }
    agenda.close()
    thread.join()
    #expect(done.withLock { $0 } == ["view", "second view"])
    agenda.add(at: Self.later, isOnItsWay: true, note("late view"))
    agenda.add(at: Self.later, note("late tap"))
    #expect(done.withLock { $0 } == ["view", "second view", "late view"])
  }
}
