import Foundation
import Glibc
import Supervision
import Testing

@Suite struct ChildProcessTests {
  @Test("A program's output, arguments, environment, folder and exit code arrive")
  func basics() async throws {
    let child = try ChildProcess(
      .init(
        "sh", ["-c", #"echo "$1 $COLOUR $(pwd)"; exit 7"#, "x", "a b"], environment: ["COLOUR": "red"],
        workingDirectory: "/usr"))
    try child.waitForLine(timeoutMilliseconds: 10_000) { $0 == "a b red /usr" }
    #expect(try await child.exited() == .exited(7))
    #expect(!child.isRunning)
  }
}
