import Dispatch
import Foundation

/// A thread of our own for calls that block, so that they never hold up Swift's cooperative pool.
package final class OwnerThread: Sendable {
  package let name: String
  private let ended = DispatchGroup()

  /// Starts `run` at once. Its name shows in `top -H` and in a debugger, of which Linux keeps 15 bytes.
  package init(_ name: String, stackBytes: Int = 1_048_576, run: @escaping @Sendable () -> Void) {
    self.name = name
    let ended = ended
    ended.enter()
    let thread = Thread {
      run()
      ended.leave()
    }
    thread.name = String(name.prefix(15))
    thread.stackSize = stackBytes
    thread.start()
  }

  /// Waits, blocking, until `run` has returned.
  package func join() { ended.wait() }

  /// The same with a limit.
  ///
  /// - Returns: false when `run` still goes on after that time.
  package func join(timeoutMilliseconds: Int) -> Bool {
    ended.wait(timeout: .now() + .milliseconds(timeoutMilliseconds)) == .success
  }
}
