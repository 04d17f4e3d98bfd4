import Dispatch
import Foundation
import Synchronization

/// Runs a blocking piece of work on a thread of its own, so that no thread of Swift's cooperative pool waits for it.
///
/// - Throws: what `body` throws.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    Thread { continuation.resume(with: Result(catching: body)) }.start()
  }
}

/// A value behind a lock, with threads that can wait until it has changed.
///
/// Unchecked: the value is read and written only while `condition` is held.
package final class Monitor<Value: Sendable>: @unchecked Sendable {
  private let condition = NSCondition()
  private var value: Value

  package init(_ value: Value) {
    self.value = value
  }

  /// Reads or changes the value, and wakes whoever waits for a change.
  package func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    condition.lock()
    defer {
      condition.broadcast()
      condition.unlock()
    }
    return try body(&value)
  }

  /// Waits until `body` gives a result, which is tried again at each change.
  ///
  /// - Returns: nil if there was no result when the time was over.
  package func wait<Result>(timeoutMilliseconds: Int, for body: (inout Value) -> Result?) -> Result? {
    let deadline = Date(timeIntervalSinceNow: Double(timeoutMilliseconds) / 1_000)
    condition.lock()
    defer { condition.unlock() }
    while true {
      if let result = body(&value) { return result }
      if !condition.wait(until: deadline) { return body(&value) }
    }
  }
}

/// The one thread that starts children.
///
/// Linux sends the parent's death signal when the *thread* that started the child ends, so children must not be
/// started on threads that come and go. This one lives as long as the process.
final class SpawnThread: Sendable {
  static let shared = SpawnThread()
  private let jobs = Mutex<[@Sendable () -> Void]>([])
  private let available = DispatchSemaphore(value: 0)

  private init() {
    Thread { [self] in
      while true {
        available.wait()
        let job = jobs.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        job?()
      }
    }.start()
  }

  /// Runs `body` on this thread and waits for its result.
  func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
    let result = Monitor<Value?>(nil)
    jobs.withLock { $0.append { result.withLock { [value = body()] in $0 = value } } }
    available.signal()
    while true {
      if let value = result.wait(timeoutMilliseconds: 60_000, for: { $0 }) { return value }
    }
  }
}
