import Foundation
import Glibc
import LocalProcesses
import TestServers
import Testing

/// This test program is started once more as the supervisor that gets killed; the variable names its folder.
private let folderVariable = "HANDBILL_SUPERVISOR_TO_BE_KILLED"
private let killedFolder = ProcessInfo.processInfo.environment[folderVariable]

@Suite struct KilledSupervisorTests {
  @Test("The supervisor to be killed", .enabled(if: killedFolder != nil, "runs only inside the test below"))
  func supervisorToBeKilled() async throws {
    let folder = try #require(killedFolder)
    let server = try await PrivatePostgres.started(.init(folder: folder))
    let sleeper = try ChildProcess(ChildProcess.Command("sleep", ["1000"]))
    let number = try #require(server.processIdentifier)
    try FileHandle.standardError.write(contentsOf: Data("\nchildren \(number) \(sleeper.processIdentifier)\n".utf8))
    _ = try await sleeper.exited()
  }

  @Test(
    "Nothing outlives a supervisor that is ended by", .enabled(if: killedFolder == nil), arguments: [SIGKILL, SIGINT])
  func nothingIsLeft(signal: Int32) async throws {
    let folder = try TemporaryFolder()
    let supervisor = try ChildProcess(
      ChildProcess.Command(
        "/proc/\(getpid())/exe", ["--testing-library", "swift-testing", "--filter", "supervisorToBeKilled"],
        environment: [folderVariable: folder.path]))
    let line = try supervisor.waitForLine(prefix: "children ", timeoutMilliseconds: 60_000)
    let numbers = line.split(separator: " ").dropFirst().compactMap { Int32($0) }
    let children = numbers.compactMap(ProcessTable.entry)
    #expect(children.count == 2)
    let family = ProcessTable.descendants(of: supervisor.processIdentifier)
    #expect(family.count >= 6 && Set(children).isSubset(of: family))
    supervisor.kill(signal)
    #expect(try await supervisor.exited() == .signalled(signal))
    for process in family {
      #expect(ProcessTable.waitForEnd(of: process, timeoutMilliseconds: 10_000), "\(process) is left")
    }
    // The data are whole: a new server starts on them.
    let server = try await PrivatePostgres.started(.init(folder: folder.path))
    #expect(try await server.execute("SELECT 1") == ["1"])
    try await server.stop()
  }
}
