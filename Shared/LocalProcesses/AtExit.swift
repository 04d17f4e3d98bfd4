internal import Glibc
internal import Synchronization

/// What is still to be done when this process ends by itself, the last registered first.
private let endings = Mutex<[@Sendable () -> Void]>([])

/// Has `body` run when the process ends by `exit` or a return from main. (Children end in any case: see
/// `ChildProcess`.)
package func atExit(_ body: @escaping @Sendable () -> Void) {
  let isFirst = endings.withLock { endings in
    endings.append(body)
    return endings.count == 1
  }
  guard isFirst else { return }
  atexit {
    while let body = endings.withLock({ $0.popLast() }) { body() }
  }
}
