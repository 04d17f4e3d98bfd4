internal import Glibc
internal import Threads

/// Several children with an order: what was started last is stopped first.
package final class Supervisor: Sendable {
  private struct Member: Sendable {
    let name: String
    let isRunning: @Sendable () -> Bool
    let stop: @Sendable () -> Void
  }

  private let members = Monitor<[Member]>([])

  package init() {}

  deinit { stopAllAndWait() }

  /// What has ended by itself of what is to be stopped, started first first.
  package var ended: [String] {
    // Asked without the lock: each has locks of its own.
    members.withLock { $0 }.filter { !$0.isRunning() }.map(\.name)
  }

  /// Starts a program and takes charge of it.
  ///
  /// - Throws: `SupervisionError` when it cannot be started.
  @discardableResult
  package func start(
    _ name: String, _ command: ChildProcess.Command, graceMilliseconds: Int = 10_000
  ) throws -> ChildProcess {
    let child = try ChildProcess(command)
    add(
      name, isRunning: { child.isRunning }, stop: { child.terminate(graceMilliseconds: graceMilliseconds) })
    return child
  }

  /// Takes charge of something that is there already.
  ///
  /// - Parameters:
  ///   - isRunning: whether it has not ended by itself.
  ///   - stop: blocks until it has ended.
  package func add(
    _ name: String, isRunning: @escaping @Sendable () -> Bool = { true }, stop: @escaping @Sendable () -> Void
  ) {
    members.withLock { $0.append(Member(name: name, isRunning: isRunning, stop: stop)) }
  }

  /// Stops everything, the last started first; again does nothing. Blocks.
  package func stopAllAndWait() {
    while let member = members.withLock({ $0.popLast() }) { member.stop() }
  }
}
