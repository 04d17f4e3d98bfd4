import Foundation
import Supervision
import Testing

extension WholeNetwork {
  /// Fault 32: what a service does that was given something wrong.
  @Suite struct WrongConfigurationTests {
    static let services = [
      "handbill-ad-selection", "handbill-impression-tracking", "handbill-click-tracking", "handbill-billing",
      "handbill-console",
    ]
    private static let secret = "hunter2-is-not-to-be-shown"

    private func run(_ service: String, _ environment: [String: String?]) throws -> (
      status: Supervision.ExitStatus?, told: String
    ) {
      let folder = try TemporaryFolder(prefix: "hbc")
      let output = folder.path("output")
      // Nothing of whoever runs the tests.
      var all: [String: String?] = Dictionary(
        ProcessInfo.processInfo.environment.keys.filter { $0.hasPrefix("HANDBILL_") || $0 == "DATABASE_URL" }
          .map { ($0, nil) }, uniquingKeysWith: { first, _ in first })
      all.merge(environment) { $1 }
      let process = try ChildProcess(
        .init(TestNetwork.executable(service), environment: all, output: .file(output), errorOutput: .file(output)))
      let status = process.waitForExit(timeoutMilliseconds: 20_000)
      if status == nil { process.terminate(graceMilliseconds: 0) }
      return (status, try String(contentsOfFile: output, encoding: .utf8))
    }

    @Test("Everything wrong is named at once, exit 78, and no secret is shown", arguments: services)
    func wrong(_ service: String) throws {
      let (status, told) = try run(
        service,
        [
          "HANDBILL_DATABASE_URL": "mysql://user:\(Self.secret)@host/db", "HANDBILL_TOKEN_KEYS": "1:\(Self.secret)",
          "HANDBILL_ADMIN_PORT": "99999", "HANDBILL_LOG_LEVEL": "loud",
        ])
      #expect(status == .exited(78), "\(told)")
      for name in ["HANDBILL_DATABASE_URL", "HANDBILL_ADMIN_PORT", "HANDBILL_LOG_LEVEL"] {
        #expect(told.contains(name), "\(name) is not named: \(told)")
      }
      // Neither the console nor billing has to do with tokens.
      if !["handbill-console", "handbill-billing"].contains(service) { #expect(told.contains("HANDBILL_TOKEN_KEYS")) }
      #expect(!told.contains(Self.secret))
    }

    @Test("What is missing is named, exit 78", arguments: services)
    func missing(_ service: String) throws {
      let (status, told) = try run(service, ["HANDBILL_ADMIN_PORT": "0"])
      #expect(status == .exited(78), "\(told)")
      #expect(told.contains("HANDBILL_DATABASE_URL") && told.contains("is required"))
    }
  }
}
