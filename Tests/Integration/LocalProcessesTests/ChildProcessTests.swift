import Foundation
import Glibc
import LocalProcesses
import TestServers
import Testing

@Suite struct ChildProcessTests {
  private func shell(_ script: String, _ arguments: String...) -> ChildProcess.Command {
    ChildProcess.Command("sh", ["-c", script, "sh"] + arguments)
  }

  @Test("A program's output, arguments, environment, folder and exit code arrive")
  func basics() async throws {
    var command = shell(#"echo "$1 $COLOUR ${HOME-none} $(pwd)"; exit 7"#, "a b")
    command.environment = ["COLOUR": "red", "HOME": nil]
    command.workingDirectory = "/usr"
    let child = try ChildProcess(command)
    try child.waitForLine(timeoutMilliseconds: 10_000) { $0 == "a b red none /usr" }
    #expect(try await child.exited() == .exited(7))
    #expect(!child.isRunning)
  }

  @Test("The end of a program's input tells it to end")
  func input() async throws {
    let child = try ChildProcess(ChildProcess.Command("cat", input: .pipe))
    #expect(child.isRunning)
    child.closeInput()
    #expect(try await child.exited() == .exited(0))
  }

  @Test("Outputs go to files, and captured lines to a copy as well")
  func files() async throws {
    let folder = try TemporaryFolder()
    var command = shell("echo out; echo err >&2")
    command.output = .file(folder.path("out"))
    command.errorOutput = .lines(alsoTo: folder.path("err"))
    let child = try ChildProcess(command)
    try child.waitForLine(prefix: "err", timeoutMilliseconds: 10_000)
    #expect(try await child.exited().isSuccess)
    #expect(throws: SupervisionError.self) { try child.waitForLine(prefix: "never", timeoutMilliseconds: 10_000) }
    #expect(try String(contentsOfFile: folder.path("out"), encoding: .utf8) == "out\n")
    #expect(try String(contentsOfFile: folder.path("err"), encoding: .utf8) == "err\n")
  }

  @Test("A program that does not exist says so by code 127, and a failed run shows its last words")
  func failures() async throws {
    #expect(try await ChildProcess(ChildProcess.Command("no-such-program")).exited() == .exited(127))
    let error = #expect(throws: SupervisionError.self) { try ChildProcess.run(shell("echo the cause >&2; exit 3")) }
    #expect(error.map { "\($0)".contains("code 3") && "\($0)".contains("the cause") } == true)
  }

  @Test("TERM ends a program; one that ignores it is killed after the grace time, with its whole group")
  func termination() async throws {
    let polite = try ChildProcess(ChildProcess.Command("sleep", ["1000"]))
    #expect(try await polite.terminated() == .signalled(SIGTERM))

    let stubborn = try ChildProcess(shell("trap '' TERM; sleep 1000 & echo child $!; wait; wait"))
    let line = try stubborn.waitForLine(prefix: "child ", timeoutMilliseconds: 10_000)
    let number = try #require(Int32(line.dropFirst("child ".count)))
    let grandchild = try #require(ProcessTable.entry(number))
    #expect(try await stubborn.terminated(graceMilliseconds: 50) == .signalled(SIGKILL))
    #expect(ProcessTable.waitForEnd(of: grandchild, timeoutMilliseconds: 5_000))
    stubborn.kill(SIGTERM)
  }

  @Test("A supervisor stops what was started last first")
  func order() async throws {
    let folder = try TemporaryFolder()
    let supervisor = Supervisor()
    for name in ["first", "second", "third"] {
      let script = #"trap 'echo $1 >> "$2"; exit 0' TERM; echo ready; while :; do sleep 1000 & wait; done"#
      let child = try supervisor.start(name, shell(script, name, folder.path("order")))
      try child.waitForLine(prefix: "ready", timeoutMilliseconds: 10_000)
    }
    try await onOwnThread { supervisor.stopAllAndWait() }
    #expect(try String(contentsOfFile: folder.path("order"), encoding: .utf8) == "third\nsecond\nfirst\n")
  }

  @Test("A supervisor names what has ended by itself, and stops the rest")
  func supervisorsEnded() async throws {
    let supervisor = Supervisor()
    for name in ["broker", "service"] {
      try supervisor.start(name, shell("echo ready; exec sleep 1000", name)).waitForLine(
        prefix: "ready", timeoutMilliseconds: 10_000)
    }
    let lost = try supervisor.start("database", shell("exit 3"))
    supervisor.add("folder") {}
    _ = try await lost.exited()
    #expect(supervisor.ended == ["database"])
    try await onOwnThread { supervisor.stopAllAndWait() }
    #expect(supervisor.ended.isEmpty)
  }

  @Test("Free ports differ and can be bound")
  func ports() throws {
    let ports = try FreePort.find(count: 20)
    #expect(Set(ports).count == 20)
    #expect(ports.allSatisfy { (1_024...65_535).contains($0) })
  }

  @Test("A temporary folder goes with its last reference")
  func folders() throws {
    var folder: TemporaryFolder? = try TemporaryFolder()
    let path = try #require(folder?.path("inside"))
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    folder = nil
    #expect(!FileManager.default.fileExists(atPath: path))
  }
}
