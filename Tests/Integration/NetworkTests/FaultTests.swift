import Foundation
import LocalProcesses
import Testing

extension WholeNetwork {
  /// A few of the faults that `make faults` makes.
  @Suite struct FaultTests {
    static let needsKafka: Comment = "faults are made with a real Kafka: set KAFKA_HOME"

    private struct Result: Decodable {
      let name: String
      let verdict: String
      let reason: String
      let compared: Int?
      let differences: Int?
    }

    @Test(
      """
      I3 to I8 hold when connections are cut in mid-COMMIT both ways, a service is killed beside another, which decides
      within ten seconds, or stands still in the middle of a COPY, strangers write what they like, and what is a thousand
      times as large unpacked, and records are deleted before they are read
      """, .enabled(if: KafkaInstallation.isAvailable, needsKafka))
    func smoke() async throws {
      let (status, said, told) = try await onOwnThread {
        let folder = try TemporaryFolder(prefix: "hbf")
        let output = folder.path("results.json")
        let process = try ChildProcess(
          .init(
            Programs.own.path("Faults"), ["--smoke", "--json"], environment: ["SWIFT_BACKTRACE": "enable=no"],
            output: .file(output)))
        let (status, family) = process.waitForExitOfFamily(milliseconds: 540_000)
        if status == nil { process.terminate(graceMilliseconds: 0) }
        #expect(!family.isEmpty && family.filter(ProcessTable.isRunning).isEmpty)
        let said = FileManager.default.contents(atPath: output) ?? Data()
        return (status, said, process.lastLines.joined(separator: "\n"))
      }
      #expect(status == .exited(0), "\(told)")
      let results = try JSONDecoder().decode([Result].self, from: said)
      #expect(results.count == 7)
      for result in results {
        #expect(result.verdict == "passed", "\(result.name): \(result.reason)")
        #expect(result.differences == 0)
        #expect(result.compared.map { $0 > 0 } == true)
      }
    }
  }
}
