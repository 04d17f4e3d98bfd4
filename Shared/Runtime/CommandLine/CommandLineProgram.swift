internal import Foundation
internal import Kafka
internal import Migrations
internal import Postgres

/// Runs a ``Command`` and says how the process shall end.
package enum CommandLineProgram {
  /// Parses, prints help, version or mistakes, or runs the command. What the command throws becomes one line on
  /// standard error: ``UsageError`` ends with 64, PostgreSQL or Kafka that is away with 69, ``ConfigurationProblems``
  /// with 78, an ``ExitCode`` with itself.
  package static func run(
    _ root: Command, arguments: [String] = Array(CommandLine.arguments.dropFirst())
  ) async -> ExitCode {
    // A reader that goes away (`handbill report | head`) is no error of ours: writing then just returns false.
    signal(SIGPIPE, SIG_IGN)
    switch CommandParser.parse(arguments, as: root) {
    case .help(let text):
      Terminal.print(text)
      return .success
    case .version:
      Terminal.print("\(root.name) \(BuildInformation.current.text)")
      return .success
    case .mistake(let error, let usage):
      Terminal.note("\(root.name): \(error)\nUsage: \(usage)\nMore: --help")
      return .usage
    case .run(let command, let invocation):
      do {
        return try await command.run?(invocation) ?? .usage
      } catch {
        return report(error, program: invocation.path.joined(separator: " "))
      }
    }
  }

  private static func report(_ error: any Error, program: String) -> ExitCode {
    switch error {
    case let code as ExitCode: return code
    case let error as UsageError:
      Terminal.note("\(program): \(error)\nMore: --help")
      return .usage
    case let problems as ConfigurationProblems:
      Terminal.note("\(program): \(problems)")
      return .configuration
    default:
      Terminal.note("\(program): \(error)")
      return isUnavailable(error) ? .unavailable : .failure
    }
  }

  /// Whether something that the program needs is away.
  private static func isUnavailable(_ error: any Error) -> Bool {
    switch error {
    case let error as PostgresError: error.isUnavailable
    case MigrationError.database(let error), MigrationError.failed(_, let error): error.isUnavailable
    case let error as KafkaError: [.brokerUnavailable, .timedOut].contains(error.kind)
    default: false
    }
  }
}

/// What was built.
package struct BuildInformation: Sendable, Equatable {
  package let version: String
  package let revision: String

  package var text: String { revision == "unknown" ? version : "\(version) (\(revision))" }

  /// This build; the version is said here alone. An image says its source revision in `HANDBILL_REVISION`.
  package static let current = BuildInformation(
    version: "0.1.0", revision: ProcessInfo.processInfo.environment["HANDBILL_REVISION"] ?? "unknown")
}
