internal import HTTP
package import Threads

/// How one of our services is started on this machine, and how it is asked whether it is ready.
package struct LocalService: Sendable {
  /// The executable's name, such as `handbill-billing`.
  package let name: String
  /// Where it tells its state, on the loopback interface.
  package let adminPort: Int
  /// Gets all that it says, at its end.
  package let logFile: String
  private let command: ChildProcess.Command

  private static let lookAgainMilliseconds = 50

  /// - Parameter environment: what the service needs besides its admin port.
  package init(
    _ name: String, programs: Programs = .own, adminPort: Int, environment: [String: String?], logFile: String
  ) {
    self.name = name
    self.adminPort = adminPort
    self.logFile = logFile
    var environment = environment
    environment["HANDBILL_ADMIN_PORT"] = String(adminPort)
    // A crash must not keep its pipes open while a backtrace is made.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    command = ChildProcess.Command(
      programs.path(name), environment: environment, output: .file(logFile), errorOutput: .file(logFile))
  }

  /// Where its metrics are told.
  package var metricsURL: String { "http://127.0.0.1:\(adminPort)/metrics" }

  /// Whether it says that it is ready.
  package var isReady: Bool { ask("/readyz")?.status == 200 }

  /// Starts it; with other settings than its own if need be.
  package func start(settings: [String: String?] = [:]) throws -> ChildProcess {
    var command = command
    command.environment.merge(settings) { $1 }
    return try ChildProcess(command)
  }

  /// What a path of its admin port says; nil without an answer.
  package func ask(_ path: String) -> (status: Int, text: String)? {
    guard let answer = try? HTTPClient.get("http://127.0.0.1:\(adminPort)\(path)") else { return nil }
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  /// Waits until it is ready. Blocks.
  ///
  /// - Parameters:
  ///   - stop: ends the wait.
  ///   - isAlive: asked again and again, so that nobody waits for what will not come.
  /// - Returns: nil when it is ready or `stop` was made, else what it lacks.
  package func awaitReadiness(
    milliseconds: Int, stop: StopRequest = StopRequest(), isAlive: () -> Bool = { true }
  ) -> String? {
    let deadline = Deadline(afterMilliseconds: milliseconds)
    while !isReady {
      guard isAlive(), !deadline.isOver else { return ask("/readyz?verbose")?.text ?? "no answer" }
      if stop.wait(milliseconds: Self.lookAgainMilliseconds) { return nil }
    }
    return nil
  }
}
