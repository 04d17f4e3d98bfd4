internal import AdClient
internal import Threads

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

  private let state = Monitor(State())
  /// The clock is read again after this, whatever is planned.
  private static let longestWaitMilliseconds: Int64 = 1_000

  /// Adds a step; dropped once the agenda is closed, unless it is on its way: then it is done at once.
  ///
  /// - Parameter isOnItsWay: Whether it was done by the device already, and is held back only: what users do after the
  ///   end is not done, but what a network carries arrives.
  func add(at moment: MonotonicTime, isOnItsWay: Bool = false, _ run: @escaping @Sendable () -> Void) {
    let isClosed = state.update { state in
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
  }

  /// Drops what is left, does at once what is on its way, and ends `run`.
  func close() {
    state.update { $0.isClosed = true }
  }

  /// Runs the steps as they become due, until the agenda is closed.
  func run() {
    while !state.withLock({ $0.isClosed }) {
      for step in awaitDue() { step.run() }
    }
    let left = state.withLock { state in
      defer { state.heap.removeAll() }
      return state.heap.sorted(by: Self.isBefore)
    }
    for step in left where step.isOnItsWay { step.run() }
  }

  /// What is due, once something is; nothing when the agenda was closed, or changed so that there is another wait.
  private func awaitDue() -> [Step] {
    let now = DeviceClock.monotonic
    let longest = now.advanced(byMilliseconds: Self.longestWaitMilliseconds)
    let end = state.withLock { min($0.heap.first?.at ?? longest, longest) }
    return state.waitForResult(timeoutMilliseconds: Int(max(0, end.milliseconds(since: now)))) { state -> [Step]? in
      guard !state.isClosed, let first = state.heap.first?.at else { return state.isClosed ? [] : nil }
      let now = DeviceClock.monotonic
      // Somebody added what is due sooner.
      guard first <= now else { return first < end ? [] : nil }
      var due: [Step] = []
      while let first = state.heap.first, first.at <= now { due.append(Self.removeFirst(&state.heap)) }
      return due
    } ?? []
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
