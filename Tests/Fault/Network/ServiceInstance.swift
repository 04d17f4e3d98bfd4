import AdCore
import Foundation
import LocalProcesses
import PipelineHost
import Runtime
import Synchronization
import TestValues
import Threads

/// One process of a service. It is started again whenever it ends, as whoever runs a network would do.
final class ServiceInstance: Sendable {
  private struct State: Sendable {
    var child: ChildProcess
    /// False between the end of one process and the start of the next.
    var isThere = true
    /// Set while somebody ends it on purpose.
    var isEndExpected = false
    var isClosing = false
    /// It is not started again before somebody says so.
    var isKeptDown = false
    /// The failpoint of the running process, and that of the next one.
    var failpoint: String?
    var nextFailpoint: String?
    var failpointEnds = 0
    /// Ends that nobody asked for.
    var unexpectedEnds: [String] = []
    var starts = 1
    /// By this machine's clock.
    var startedAt = SystemClock().now
  }

  private let local: LocalService
  private let state: Mutex<State>
  private let watcher = Mutex<OwnerThread?>(nil)
  private static let pauseMilliseconds = 50
  private static let graceMilliseconds = 20_000
  private static let freezeSeconds = 5

  init(_ local: LocalService) throws {
    self.local = local
    state = Mutex(State(child: try local.start()))
    let thread = OwnerThread("watch-\(service)") { [self] in while watch() {} }
    watcher.withLock { $0 = thread }
  }

  /// Such as `billing`.
  var service: String { String(local.name.dropFirst("handbill-".count)) }
  var adminPort: Int { local.adminPort }

  var processIdentifier: Int32 { state.withLock { $0.child.processIdentifier } }
  /// Ends that nobody asked for, in words.
  var unexpectedEnds: [String] { state.withLock { $0.unexpectedEnds } }
  /// How often it was started.
  var starts: Int { state.withLock { $0.starts } }

  /// When the running process was started, by this machine's clock.
  var startedAt: Timestamp { state.withLock { $0.startedAt } }

  /// kill -9; it is started again.
  func kill() { expectEnd(by: SIGKILL) }

  /// kill -9; it is not started again before `startAgain`. Blocks until it has ended.
  func killAndKeepDown() {
    state.withLock { $0.isKeptDown = true }
    _ = expectEnd(by: SIGKILL).waitForExit()
  }

  /// Ends what `killAndKeepDown` began.
  func startAgain() { state.withLock { $0.isKeptDown = false } }

  /// SIGSTOP: the process stands still and keeps everything it has. Blocks until it does.
  func freeze() {
    state.withLock { $0.child }.kill(SIGSTOP)
    // On a busy machine its threads go on for a while.
    _ = Waiting.until(seconds: Self.freezeSeconds) { isFrozen }
  }

  /// SIGCONT.
  func thaw() { state.withLock { $0.child }.kill(SIGCONT) }

  /// Ends it at once and starts it with a failpoint; when it has ended there it is started without.
  func arm(_ failpoint: String) {
    state.withLock { $0.nextFailpoint = failpoint }
    kill()
  }

  /// SIGTERM to a process that is to end at its failpoint.
  func interrupt() { state.withLock { $0.child }.kill(SIGTERM) }

  /// Whether the process with a failpoint runs.
  var isArmed: Bool { state.withLock { $0.isThere && $0.failpoint != nil && $0.nextFailpoint == nil } }

  /// Whether the process with the failpoint has ended there, and another runs.
  var hasFailed: Bool {
    state.withLock { $0.isThere && $0.failpointEnds > 0 && $0.failpoint == nil && $0.nextFailpoint == nil }
  }

  /// Every thread of the process stands still, as some time after SIGSTOP.
  var isFrozen: Bool {
    let tasks = "/proc/\(processIdentifier)/task"
    let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
    return !threads.isEmpty
      && threads.allSatisfy { thread in
        let stat = (try? String(contentsOfFile: "\(tasks)/\(thread)/stat", encoding: .utf8)) ?? ""
        // After the name, which may hold anything in its parentheses.
        return stat.split(separator: ")").last?.split(separator: " ").first == "T"
      }
  }

  /// Forgets failpoints that were reached, for the next fault.
  func forgetFailpoints() { state.withLock { $0.failpointEnds = 0 } }

  /// SIGTERM; it is started again.
  ///
  /// - Returns: how it ended, and after how many milliseconds; nil when it had not within the time.
  func terminate(timeoutMilliseconds: Int) -> (status: ExitStatus, milliseconds: Int64)? {
    let clock = SystemClock()
    let began = clock.monotonicMilliseconds
    let child = expectEnd(by: SIGTERM)
    guard let status = child.waitForExit(timeoutMilliseconds: timeoutMilliseconds) else { return nil }
    return (status, clock.monotonicMilliseconds - began)
  }

  /// Ends it for good. Blocks.
  func close() {
    let child = state.withLock { state in
      state.isClosing = true
      return state.child
    }
    child.kill(SIGCONT)
    child.terminate(graceMilliseconds: Self.graceMilliseconds)
    watcher.withLock { $0 }?.join()
    state.withLock { $0.child }.terminate(graceMilliseconds: Self.graceMilliseconds)
  }

  /// Whether it says that it is ready.
  var isReady: Bool { local.isReady }

  /// The last lines of its log.
  func lastWords(_ count: Int) -> [String] {
    let text = (try? String(contentsOfFile: local.logFile, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").suffix(count).map(String.init)
  }

  @discardableResult
  private func expectEnd(by signal: Int32) -> ChildProcess {
    while true {
      let child = state.withLock { state -> ChildProcess? in
        guard state.isThere else { return nil }
        state.isEndExpected = true
        return state.child
      }
      if let child {
        child.kill(signal)
        return child
      }
      // Between two processes: a signal would reach neither.
      Waiting.pause(milliseconds: 20)
    }
  }

  /// Waits for one end and starts the next process; false when there is nothing more to watch.
  private func watch() -> Bool {
    let status = state.withLock { $0.child }.waitForExit()
    let next = state.withLock { state -> String?? in
      if state.isClosing { return nil }
      state.isThere = false
      if state.isEndExpected {
        state.isEndExpected = false
      } else if state.failpoint != nil, status == .signalled(SIGKILL) {
        state.failpointEnds += 1
      } else {
        state.unexpectedEnds.append("\(service) \(status)")
      }
      state.failpoint = state.nextFailpoint
      state.nextFailpoint = nil
      return .some(state.failpoint)
    }
    guard let failpoint = next else { return false }
    Waiting.pause(milliseconds: Self.pauseMilliseconds)
    while state.withLock({ $0.isKeptDown && !$0.isClosing }) { Waiting.pause(milliseconds: 20) }
    if state.withLock({ $0.isClosing }) { return false }
    let startedAt = SystemClock().now
    guard let child = try? local.start(settings: [Failpoint.variable: failpoint]) else { return false }
    state.withLock { state in
      state.child = child
      state.isThere = true
      state.starts += 1
      state.startedAt = startedAt
    }
    return true
  }
}
