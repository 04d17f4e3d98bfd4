import Foundation
import LocalProcesses
import Testing
import Threads

extension WholeNetwork {
  /// `handbill demo`, as `make demo` runs it: everything real, devices for some seconds, accounts without a difference.
  @Suite struct DemoTests {
    static let needsKafka: Comment = "kill -9 under load is tested on a real Kafka: set KAFKA_HOME"

    @Test("the demo ends with 0 differences, twice in a row on the same folder, and leaves no process behind")
    func embedded() async throws {
      let folder = try TemporaryFolder(prefix: "hbd")
      try folder.letOthersEnter()
      for _ in 0..<2 {
        let demo = try await run(folder, ["--kafka", "embedded", "--seconds", "6", "--seed", "1"])
        #expect(demo.status == 0, "\(demo.said)")
        #expect(demo.said.contains("0 differences"), "\(demo.said)")
      }
    }

    @Test(
      "B6: services are killed with -9 in the middle of the demo and started again; nothing is lost or counted twice",
      .enabled(if: KafkaInstallation.isAvailable, needsKafka))
    func chaos() async throws {
      let folder = try TemporaryFolder(prefix: "hbd")
      try folder.letOthersEnter()
      let demo = try await run(folder, ["--kafka", "local", "--seconds", "15", "--seed", "7", "--chaos"])
      #expect(demo.status == 0, "\(demo.said)")
      #expect(demo.said.contains("0 differences"), "\(demo.said)")
    }

    private func run(_ folder: TemporaryFolder, _ arguments: [String]) async throws -> (status: Int32, said: String) {
      try await onOwnThread {
        let process = try ChildProcess(
          .init(
            Programs.own.path("handbill"), ["demo", "--folder", folder.path + "/demo"] + arguments,
            environment: ["SWIFT_BACKTRACE": "enable=no"]))
        let (status, family) = process.waitForExitOfFamily(milliseconds: 240_000)
        let said = process.lastLines.joined(separator: "\n")
        #expect(!family.isEmpty && family.filter(ProcessTable.isRunning).isEmpty)
        guard case .exited(let code)? = status else {
          process.terminate(graceMilliseconds: 0)
          return (-1, said)
        }
        return (code, said)
      }
    }
  }
}

extension ChildProcess {
  private static let lookAgainMilliseconds = 200

  /// How it ended, nil if it did not in time; and all processes that it and its children had started while it lived. Once it
  /// has ended nothing tells whose they were.
  func waitForExitOfFamily(milliseconds: Int) -> (status: LocalProcesses.ExitStatus?, family: Set<ProcessTable.Entry>) {
    let deadline = Deadline(afterMilliseconds: milliseconds)
    var family: Set<ProcessTable.Entry> = []
    while !deadline.isOver {
      family.formUnion(ProcessTable.descendants(of: processIdentifier))
      if let status = waitForExit(timeoutMilliseconds: Self.lookAgainMilliseconds) { return (status, family) }
    }
    return (nil, family)
  }
}

extension TemporaryFolder {
  /// PostgreSQL runs as another user where this is root.
  func letOthersEnter() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o711], ofItemAtPath: path)
  }
}
