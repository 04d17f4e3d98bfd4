internal import AdClient
internal import Dispatch
internal import Synchronization

/// What the simulated devices will do, and when: a queue ordered by time, emptied by one thread.
final class Agenda: Sendable {
  private struct Step {
    let at: MonotonicTime
    let number: UInt64
    let isOnItsWay: Bool
    let run: @Sendable () -> Void
  }

  private struct State {
    /// A binary heap: the earliest first, of equal ones the first added.
    var heap: [Step] = []
    var number: UInt64 = 0
    var isClosed = false
  }

  private let state = Mutex(State())
  private let changed = DispatchSemaphore(value: 0)

  /// Adds a step; dropped once the agenda is closed, unless it is on its way: then it is done at once.
  ///
  /// - Parameter isOnItsWay: Whether it was done by the device already, and is held back only: what users do after the
  ///   end is not done, but what a network carries arrives.
  func add(at moment: MonotonicTime, isOnItsWay: Bool = false, _ run: @escaping @Sendable () -> Void) {
    let isClosed = state.withLock { state in
      guard !state.isClosed else { return true }
      state.number += 1
      state.heap.append(Step(at: moment, number: state.number, isOnItsWay: isOnItsWay, run: run))
      var child = state.heap.count - 1
      while child > 0, Self.isBefore(state.heap[child], state.heap[(child - 1) / 2]) {
        state.heap.swapAt(child, (child - 1) / 2)
        child = (child - 1) / 2
      }
      return false
    }
    if isClosed, isOnItsWay { run() }
    changed.signal()
  }

  /// Drops what is left, does at once what is on its way, and ends `run`.
  func close() {
    state.withLock { $0.isClosed = true }
    changed.signal()
  }

  /// Runs the steps as they become due, until the agenda is closed.
  func run() {
    while true {
      let now = DeviceClock.monotonic
      let (due, wait, isClosed) = state.withLock { state -> ([Step], Int64, Bool) in
        var due: [Step] = []
        while let first = state.heap.first, first.at <= now { due.append(Self.removeFirst(&state.heap)) }
        return (due, state.heap.first.map { $0.at.milliseconds(since: now) } ?? 1_000, state.isClosed)
      }
      if isClosed {
        let left = state.withLock { state in
          defer { state.heap.removeAll() }
          return due + state.heap.sorted(by: Self.isBefore)
        }
        for step in left where step.isOnItsWay { step.run() }
        return
      }
      for step in due { step.run() }
      if due.isEmpty { _ = changed.wait(timeout: .now() + .milliseconds(Int(max(1, min(wait, 1_000))))) }
    }
  }

  private static func isBefore(_ left: Step, _ right: Step) -> Bool {
    (left.at, left.number) < (right.at, right.number)
  }

  private static func removeFirst(_ heap: inout [Step]) -> Step {
    let first = heap[0]
    let last = heap.removeLast()
    guard !heap.isEmpty else { return first }
    heap[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count && isBefore(heap[child], heap[least]) {
        least = child
      }
      if least == parent { return first }
      heap.swapAt(parent, least)
      parent = least
    }
  }
}
