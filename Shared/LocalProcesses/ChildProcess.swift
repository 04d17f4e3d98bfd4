internal import Foundation
internal import Glibc
internal import Threads

/// A program that was started by this process and does not outlive it.
///
/// The child leads a process group of its own, so a Ctrl-C in the terminal reaches only the supervisor, which stops its
/// children in order. If this process dies in whatever way, kill -9 included, the kernel sends the child
/// `signalWhenParentDies`. When the child ends, whatever is left in its process group is killed.
package final class ChildProcess: Sendable {
  /// Where an output of the child goes.
  package enum Output: Sendable, Equatable {
    /// To /dev/null.
    case discarded
    /// To the same place as this process's own.
    case inherited
    /// To the end of the file at this path.
    case file(String)
    /// To `waitForLine` and `lastLines`, and to the end of the file at this path if there is one.
    case lines(alsoTo: String? = nil)
  }

  /// Where the child reads from.
  package enum Input: Sendable, Equatable {
    /// From /dev/null.
    case empty
    /// From the file at this path.
    case file(String)
    /// From a pipe that nothing is written to, until `closeInput`: its end tells the child to end.
    case pipe
  }

  /// What to start, and how.
  package struct Command: Sendable {
    /// A path, or a name that is looked up in PATH.
    package var executable: String
    package var arguments: [String]
    /// Variables set for the child besides the inherited ones; nil removes one.
    package var environment: [String: String?]
    package var workingDirectory: String?
    package var input: Input
    package var output: Output
    package var errorOutput: Output
    /// The user to run as; only root can use it.
    package var user: String?
    /// The signal that the child gets from the kernel when this process dies.
    package var signalWhenParentDies: Int32

    package init(
      _ executable: String, _ arguments: [String] = [], environment: [String: String?] = [:],
      workingDirectory: String? = nil, input: Input = .empty, output: Output = .lines(), errorOutput: Output = .lines(),
      user: String? = nil, signalWhenParentDies: Int32 = SIGKILL
    ) {
      self.executable = executable
      self.arguments = arguments
      self.environment = environment
      self.workingDirectory = workingDirectory
      self.input = input
      self.output = output
      self.errorOutput = errorOutput
      self.user = user
      self.signalWhenParentDies = signalWhenParentDies
    }
  }

  /// The command that was started.
  package let command: Command
  /// The process id, which is also the number of its process group.
  package let processIdentifier: Int32
  /// Running (nil) or how it ended.
  private let status: Monitor<ExitStatus?>
  private let lines = LineBuffer()
  private let inputPipe: Monitor<Int32?>

  /// Starts the program.
  ///
  /// - Throws: `SupervisionError` when a file cannot be opened or the process not be started. An executable that does
  ///   not exist shows as exit code 127.
  package init(_ command: Command) throws {
    let started = try Spawn.start(command)
    self.command = command
    processIdentifier = started.processIdentifier
    status = Monitor(nil)
    inputPipe = Monitor(started.inputPipe)
    for reader in started.readers {
      lines.read(reader.descriptor, alsoTo: reader.copy)
    }
    _ = OwnerThread("child") { [self] in awaitEnd() }
  }

  /// Whether it has not ended yet.
  package var isRunning: Bool { status.withLock { $0 == nil } }

  /// The last lines of its captured outputs, oldest first.
  package var lastLines: [String] { lines.lastLines }

  /// Sends a signal to the child and its process group; nothing happens when it has ended.
  package func kill(_ signal: Int32) {
    // The lock keeps the child from being reaped meanwhile, so its number cannot belong to anybody else yet.
    status.withLock { if $0 == nil { _ = Glibc.kill(-processIdentifier, signal) } }
  }

  /// Asks the child to end, and kills it when it has not after `graceMilliseconds`.
  ///
  /// Blocks.
  @discardableResult
  package func terminate(graceMilliseconds: Int = 5_000, signal: Int32 = SIGTERM) -> ExitStatus {
    kill(signal)
    if let status = waitForExit(timeoutMilliseconds: graceMilliseconds) { return status }
    kill(SIGKILL)
    return waitForExit()
  }

  /// Blocks until the child has ended; nil if it has not within the time.
  package func waitForExit(timeoutMilliseconds: Int) -> ExitStatus? {
    status.waitForResult(timeoutMilliseconds: timeoutMilliseconds) { $0 }
  }

  /// Blocks until the child has ended.
  @discardableResult
  package func waitForExit() -> ExitStatus {
    while true {
      if let status = status.waitForResult(timeoutMilliseconds: nil, { $0 }) { return status }
    }
  }

  /// Blocks until a captured line that begins with `prefix` comes, and returns it. Lines up to it count as read.
  ///
  /// - Throws: `SupervisionError.failed` when the outputs end, or the time is over, without one.
  @discardableResult
  package func waitForLine(prefix: String, timeoutMilliseconds: Int) throws -> String {
    try waitForLine(timeoutMilliseconds: timeoutMilliseconds) { $0.hasPrefix(prefix) }
  }

  /// Blocks until a captured line that `matches` comes, and returns it. Lines up to it count as read.
  ///
  /// - Throws: `SupervisionError.failed` when the outputs end, or the time is over, without one.
  @discardableResult
  package func waitForLine(timeoutMilliseconds: Int, where matches: (String) -> Bool) throws -> String {
    switch lines.wait(timeoutMilliseconds: timeoutMilliseconds, where: matches) {
    case .line(let line): return line
    case .ended:
      let reason = waitForExit(timeoutMilliseconds: 1_000).map(\.description) ?? "closed its output"
      throw failure(reason)
    case .late: throw failure("was not ready within \(timeoutMilliseconds) ms")
    }
  }

  /// Ends the child's input.
  package func closeInput() {
    inputPipe.withLock { descriptor in
      if let open = descriptor { close(open) }
      descriptor = nil
    }
  }

  /// An error about this child, with what it said last.
  func failure(_ reason: String) -> SupervisionError {
    .failed(program: name, reason: reason, output: lastLines.suffix(20).joined(separator: "\n"))
  }

  private var name: String { command.executable.split(separator: "/").last.map(String.init) ?? command.executable }

  /// Waits for the end on a thread of the child's own, clears its process group, and reaps it.
  private func awaitEnd() {
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(processIdentifier), &information, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
    closeInput()
    status.update { status in
      // The child is still a zombie, so the group's number is still its own.
      _ = Glibc.kill(-processIdentifier, SIGKILL)
      var word: Int32 = 0
      while unsafe waitpid(processIdentifier, &word, 0) < 0 && errno == EINTR {}
      status = ExitStatus(statusWord: word)
    }
  }
}

extension ChildProcess {
  /// Runs a command to its end and returns the lines it printed.
  ///
  /// Blocks.
  /// - Throws: `SupervisionError.failed` when it ends with anything but 0 or takes too long.
  @discardableResult
  package static func run(_ command: Command, timeoutMilliseconds: Int = 60_000) throws -> [String] {
    let child = try ChildProcess(command)
    guard let status = child.waitForExit(timeoutMilliseconds: timeoutMilliseconds) else {
      child.kill(SIGKILL)
      throw child.failure("took longer than \(timeoutMilliseconds) ms")
    }
    child.lines.awaitEnd(timeoutMilliseconds: 1_000)
    guard status.isSuccess else { throw child.failure(status.description) }
    return child.lastLines
  }
}
