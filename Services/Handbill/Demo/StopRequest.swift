import Foundation
import Runtime
import Synchronization

/// Whether somebody wants this process to end, and waiting that ends with it.
///
/// Unchecked: the flag is read and written only while `condition` is held.
final class StopRequest: @unchecked Sendable {
  /// Thrown where work was broken off because of the request.
  struct Stopped: Error, CustomStringConvertible {
    var description: String { "stopped" }
  }

  private let condition = NSCondition()
  private var isMade = false

  /// Makes the request, from any thread.
  func make() {
    condition.lock()
    isMade = true
    condition.broadcast()
    condition.unlock()
  }

  var isRequested: Bool {
    condition.lock()
    defer { condition.unlock() }
    return isMade
  }

  /// Waits, blocking, until the request is made or the time is over.
  ///
  /// - Returns: whether it was made.
  @discardableResult
  func wait(milliseconds: Int) -> Bool {
    let end = Date(timeIntervalSinceNow: Double(milliseconds) / 1_000)
    condition.lock()
    defer { condition.unlock() }
    while !isMade, condition.wait(until: end) {}
    return isMade
  }

  /// - Throws: `Stopped` when the request was made.
  func check() throws {
    if isRequested { throw Stopped() }
  }

  /// SIGTERM and Ctrl-C make the request; a second one ends the process at once, and the kernel ends the children.
  func listen() -> ShutdownSignals {
    ShutdownSignals(onFirst: { [self] _ in make() }, onSecond: { _ in _exit(ExitCode.failure.rawValue) })
  }
}
