internal import Foundation
internal import HTTP
internal import LocalProcesses
internal import Runtime
internal import Synchronization
internal import Threads

/// One of our services as a process, which is started again when it ends without being told to.
final class ServiceProcess: Sendable {
  let name: String
  let adminPort: Int
  private let command: ChildProcess.Command
  private let note: @Sendable (String) -> Void
  private let state: Mutex<State>
  private let stopping = StopRequest()
  private let watcher = Mutex<OwnerThread?>(nil)

  private struct State: Sendable {
    var child: ChildProcess
    var restarts = 0
    var isGivenUp = false
  }

  /// A service that ends this often so soon after its start will not get better.
  private static let failedStartsMaximum = 5
  private static let soonMilliseconds: Int64 = 5_000
  private static let pauseMilliseconds = 100
  private static let graceMilliseconds = 20_000

  /// Starts it.
  ///
  /// - Parameter note: is told when it ends by itself.
  init(
    name: String, executable: String, adminPort: Int, environment: [String: String?], logFile: String,
    note: @escaping @Sendable (String) -> Void
  ) throws {
    self.name = name
    self.adminPort = adminPort
    self.note = note
    var environment = environment
    environment["HANDBILL_ADMIN_PORT"] = String(adminPort)
    // A crash must not keep its pipes open while a backtrace is made.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    command = ChildProcess.Command(
      executable, environment: environment, output: .file(logFile), errorOutput: .file(logFile))
    state = Mutex(State(child: try ChildProcess(command)))
    let thread = OwnerThread("watch-\(name)") { [weak self] in
      while self?.watch() == true {}
    }
    watcher.withLock { $0 = thread }
  }

  /// Where its metrics are told.
  var metricsURL: String { "http://127.0.0.1:\(adminPort)/metrics" }
  /// How often it was started again.
  var restarts: Int { state.withLock { $0.restarts } }
  /// Whether it ended too often to be started again.
  var isGivenUp: Bool { state.withLock { $0.isGivenUp } }
  var processIdentifier: Int32 { state.withLock { $0.child.processIdentifier } }

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

  /// What a path of its admin port says; nil without an answer.
  func get(_ path: String) -> (status: Int, text: String)? {
    guard let answer = try? HTTPClient.get("http://127.0.0.1:\(adminPort)\(path)", timeoutMilliseconds: 2_000) else {
      return nil
    }
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  /// Waits for one end of the process; false when there is nothing more to watch.
  private func watch() -> Bool {
    var failedStarts = 0
    while true {
      let child = state.withLock { $0.child }
      let startedAt = SystemClock().monotonicMilliseconds
      let status = child.waitForExit()
      if stopping.isRequested { return false }
      let isSoon = SystemClock().monotonicMilliseconds - startedAt < Self.soonMilliseconds
      failedStarts = isSoon ? failedStarts + 1 : 0
      guard failedStarts < Self.failedStartsMaximum else {
        note("\(name) \(status) \(failedStarts) times just after its start: given up")
        state.withLock { $0.isGivenUp = true }
        return false
      }
      note("\(name) \(status); started again")
      if stopping.wait(milliseconds: Self.pauseMilliseconds) { return false }
      do {
        let next = try ChildProcess(command)
        state.withLock { state in
          state.child = next
          state.restarts += 1
        }
      } catch {
        note("\(name) cannot be started again: \(error)")
        state.withLock { $0.isGivenUp = true }
        return false
      }
    }
  }
}
