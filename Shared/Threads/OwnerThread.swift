internal import Foundation

/// A thread of our own for calls that block, so that they never hold up Swift's cooperative pool.
package final class OwnerThread: Sendable {
  package let name: String
  private let hasEnded = Monitor(false)

  /// Starts `run` at once. Its name shows in `top -H` and in a debugger, of which Linux keeps 15 bytes.
  package init(_ name: String, stackBytes: Int = 1_048_576, run: @escaping @Sendable () -> Void) {
    self.name = name
    let thread = Thread { [hasEnded] in
      run()
      hasEnded.update { $0 = true }
    }
    thread.name = String(name.prefix(15))
    thread.stackSize = stackBytes
    thread.start()
  }

  /// Waits, blocking, until `run` has returned.
  package func join() { _ = hasEnded.waitForResult(timeoutMilliseconds: nil) { $0 ? true : nil } }

  /// The same with a limit.
  ///
  /// - Returns: false when `run` still goes on after that time.
  package func join(timeoutMilliseconds: Int) -> Bool {
    hasEnded.wait(timeoutMilliseconds: timeoutMilliseconds) { $0 }
  }
}
