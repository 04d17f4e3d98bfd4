/// How a process of ours ends. The numbers above 2 are those of BSD's sysexits.
package enum ExitCode: Int32, Error, Sendable {
  case success = 0
  /// The work was done and found wrong, or failed.
  case failure = 1
  /// The command line is wrong.
  case usage = 64
  /// Something needed, such as Kafka or PostgreSQL, is not to be had.
  case unavailable = 69
  /// The configuration is wrong.
  case configuration = 78
}

/// The command line is wrong: one sentence that says how, and if possible what was meant.
package struct UsageError: Error, Sendable, Equatable, CustomStringConvertible {
  package let message: String

  package init(_ message: String) { self.message = message }

  package var description: String { message }
}
