internal import Threads

/// Runs a blocking piece of work on a thread of its own, so that no thread of Swift's cooperative pool waits for it.
///
/// - Throws: what `body` throws.
package func onOwnThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
  try await withCheckedThrowingContinuation { continuation in
    _ = OwnerThread("own") { continuation.resume(with: Result(catching: body)) }
  }
}

/// The one thread that starts children.
///
/// Linux sends the parent's death signal when the *thread* that started the child ends, so children must not be
/// started on threads that come and go. This one lives as long as the process.
final class SpawnThread: Sendable {
  static let shared = SpawnThread()
  private let jobs = Monitor<[@Sendable () -> Void]>([])

  private init() {
    _ = OwnerThread("spawn") { [self] in
      while true {
        let job = jobs.waitForResult(timeoutMilliseconds: nil) { $0.isEmpty ? nil : $0.removeFirst() }
        job?()
      }
    }
  }

  /// Runs `body` on this thread and waits for its result.
  func run<Value: Sendable>(_ body: @escaping @Sendable () -> Value) -> Value {
    let result = Monitor<Value?>(nil)
    jobs.update { $0.append { result.update { [value = body()] in $0 = value } } }
    while true {
      if let value = result.waitForResult(timeoutMilliseconds: nil, { $0 }) { return value }
    }
  }
}
