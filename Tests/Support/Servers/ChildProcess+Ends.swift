import Glibc
import LocalProcesses

extension ChildProcess {
  /// How the child ended, as soon as it has.
  package func exited() async throws -> ExitStatus { try await onOwnThread { self.waitForExit() } }

  /// ``terminate(graceMilliseconds:signal:)`` for asynchronous code.
  package func terminated(graceMilliseconds: Int = 5_000) async throws -> ExitStatus {
    try await onOwnThread { self.terminate(graceMilliseconds: graceMilliseconds) }
  }
}
