import Glibc
import LocalProcesses

/// A server of our own, as asynchronous code starts and ends it.
package protocol LocalServer: AnyObject, Sendable {
  associatedtype Configuration: Sendable

  init(_ configuration: Configuration) throws
  func startAndWait() throws
  func stopAndWait()
  func killAndWait()
}

extension LocalServer {
  /// A server that answers.
  package static func started(_ configuration: Configuration) async throws -> Self {
    try await onOwnThread {
      let server = try Self(configuration)
      try server.startAndWait()
      return server
    }
  }

  package func start() async throws { try await onOwnThread { try self.startAndWait() } }

  package func stop() async throws { try await onOwnThread { self.stopAndWait() } }

  /// Ends it with SIGKILL, like a power cut.
  package func kill() async throws { try await onOwnThread { self.killAndWait() } }

  /// Stops and starts.
  package func restart() async throws {
    try await onOwnThread {
      self.stopAndWait()
      try self.startAndWait()
    }
  }
}

extension LocalKafka: LocalServer {
  /// Sends the broker a signal, such as SIGSTOP; nothing happens if it does not run.
  package func signal(_ number: Int32) {
    if let processIdentifier { _ = Glibc.kill(-processIdentifier, number) }
  }

  /// Runs one of Kafka's scripts against this broker (`--bootstrap-server` is added) and returns what it printed.
  @discardableResult
  package func run(_ script: String, _ arguments: [String]) async throws -> [String] {
    let command = ChildProcess.Command(
      try KafkaInstallation.find().script(script), ["--bootstrap-server", bootstrapServers] + arguments,
      environment: ["LOG_DIR": configuration.folder])
    return try await onOwnThread { try ChildProcess.run(command) }
  }
}
