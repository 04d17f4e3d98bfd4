/// Whether somebody wants a piece of work to end, and waiting that ends with it.
package final class StopRequest: Sendable {
  /// Thrown where work was broken off because of the request.
  package struct Stopped: Error, CustomStringConvertible {
    package init() {}
    package var description: String { "stopped" }
  }

  private let isMade = Monitor(false)

  package init() {}

  /// Makes the request, from any thread.
  package func make() { isMade.update { $0 = true } }

  package var isRequested: Bool { isMade.withLock { $0 } }

  /// Waits, blocking, until the request is made or the time is over.
  ///
  /// - Returns: whether it was made.
  @discardableResult
  package func wait(milliseconds: some BinaryInteger) -> Bool {
    isMade.wait(timeoutMilliseconds: Int(clamping: milliseconds)) { $0 }
  }

  /// Waits, blocking, until the request is made.
  package func wait() { _ = isMade.waitForResult(timeoutMilliseconds: nil) { $0 ? true : nil } }

  /// - Throws: `Stopped` when the request was made.
  package func check() throws {
    if isRequested { throw Stopped() }
  }
}
