internal import Foundation
internal import LocalProcesses
internal import Runtime
internal import Synchronization
internal import Threads

/// One of our services as a process, which is started again when it ends without being told to.
final class ServiceProcess: Sendable {
  let service: LocalService
  private let note: @Sendable (String) -> Void
  private let state: Mutex<State>
  private let stopping = StopRequest()
  private let watcher = Mutex<OwnerThread?>(nil)

  private struct State: Sendable {
    var child: ChildProcess
    var restarts = 0
    var isGivenUp = false
    var isMisconfigured = false
  }

  /// A service that ends this often so soon after its start will not get better.
  private static let failedStartsMaximum = 5
  private static let soonMilliseconds: Int64 = 5_000
  private static let pauseMilliseconds = 100
  private static let graceMilliseconds = 20_000

  /// Starts it.
  ///
  /// - Parameter note: is told when it ends by itself.
  init(_ service: LocalService, note: @escaping @Sendable (String) -> Void) throws {
    self.service = service
    self.note = note
    state = Mutex(State(child: try service.start()))
    let thread = OwnerThread("watch-\(service.name)") { self.watch() }
    watcher.withLock { $0 = thread }
  }

  var name: String { service.name }
  /// How often it was started again.
  var restarts: Int { state.withLock { $0.restarts } }
  /// Whether it ended too often to be started again.
  var isGivenUp: Bool { state.withLock { $0.isGivenUp } }

  /// Whether it ended because its settings are wrong; it is given up then.
  var isMisconfigured: Bool { state.withLock { $0.isMisconfigured } }

  /// Ends it like a crash; it is started again.
  func kill() { state.withLock { $0.child.kill(SIGKILL) } }

  /// Ends it in order. Blocks.
  func stop() {
    stopping.make()
    let child = state.withLock { $0.child }
    child.terminate(graceMilliseconds: Self.graceMilliseconds)
    watcher.withLock { $0 }?.join()
    // The watcher may have started another between the two lines above.
    state.withLock { $0.child }.terminate(graceMilliseconds: Self.graceMilliseconds)
  }

  /// Starts the process again as often as it ends, until it is told to end or given up.
  private func watch() {
    var failedStarts = 0
    while true {
      let child = state.withLock { $0.child }
      let startedAt = SystemClock().monotonicMilliseconds
      let status = child.waitForExit()
      if stopping.isRequested { return }
      guard status != .exited(ExitCode.configuration.rawValue) else {
        note("\(name) \(status): its settings are wrong, and no other start mends that")
        state.withLock { state in
          state.isGivenUp = true
          state.isMisconfigured = true
        }
        return
      }
      let isSoon = SystemClock().monotonicMilliseconds - startedAt < Self.soonMilliseconds
      failedStarts = isSoon ? failedStarts + 1 : 0
      guard failedStarts < Self.failedStartsMaximum else {
        note("\(name) \(status) \(failedStarts) times just after its start: given up")
        state.withLock { $0.isGivenUp = true }
        return
      }
      note("\(name) \(status); started again")
      if stopping.wait(milliseconds: Self.pauseMilliseconds) { return }
      do {
        let next = try service.start()
        state.withLock { state in
          state.child = next
          state.restarts += 1
        }
      } catch {
        note("\(name) cannot be started again: \(error)")
        state.withLock { $0.isGivenUp = true }
        return
      }
    }
  }
}
