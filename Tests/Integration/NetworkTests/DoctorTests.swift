import Foundation
import JSON
import Kafka
import LocalProcesses
import Postgres
import Testing

extension WholeNetwork {
  /// `handbill doctor` beside real servers.
  @Suite struct DoctorTests {
    static let needsKafka: Comment = "settings of topics are those of a real Kafka: set KAFKA_HOME"

    private struct Seen {
      let status: Int32
      let findings: [JSONValue]

      func finding(_ area: String, _ subject: String) -> JSONValue? {
        findings.first { $0["area"]?.textValue == area && $0["subject"]?.textValue == subject }
      }

      func state(_ area: String, _ subject: String) -> String? { finding(area, subject)?["state"]?.textValue }
    }

    private func look(_ network: TestNetwork) throws -> Seen {
      let said = try network.command(["doctor", "--json", "--app", "chess"], accepting: [0, 1])
      return Seen(status: said.status, findings: try JSONValue.parse(said.output.utf8).elements ?? [])
    }

    @Test(
      "the doctor sees what is set otherwise than it should be, says what to do, and sees that it was done",
      .enabled(if: KafkaInstallation.isAvailable, needsKafka))
    func changes() async throws {
      let network = try await TestNetwork.started(
        .init(partitions: 2, services: [], apps: ["chess"], catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        let before = try look(network)
        #expect(before.state("topics", "ads.clicks retention.ms") == "good")
        #expect(before.state("topics", "ads.responses.chess") == "good")
        #expect(before.state("postgres", "schema") == "good" && before.state("clocks", "PostgreSQL") == "good")
        #expect(before.state("clocks", "brokers") == "unknown")
        #expect(before.finding("postgres", "locks")?["found"] == "25600" && before.state("postgres", "locks") == "good")
        #expect(before.findings.contains { $0["area"] == "disk" })
        // One broker without rights, and no standby: whatever is lost with either is lost.
        #expect(before.status == 1)
        #expect(before.state("topics", "ads.clicks min.insync.replicas") == "wrong")
        #expect(before.state("brokers", "access") == "wrong")
        #expect(before.state("postgres", "synchronous_standby_names") == "wrong")
        #expect(before.findings.allSatisfy { ($0["state"] == "wrong") == ($0["advice"] != .null) })

        let admin = try KafkaAdmin(
          configuration: KafkaConfiguration(
            bootstrapServers: network.bootstrapServers, clientID: "doctor", environment: .real))
        defer { admin.close() }
        try admin.bring("ads.clicks", to: ["retention.ms": "1000", "min.insync.replicas": "2"])
        try admin.delete(topic: "ads.responses.chess")
        let connection = try network.connection()
        defer { connection.close() }
        try connection.executeScript("UPDATE public.schema_logic SET checksum = decode(repeat('00', 32), 'hex')")
        let damaged = try look(network)
        #expect(damaged.finding("topics", "ads.clicks retention.ms")?["found"] == "1000")
        #expect(
          damaged.finding("topics", "ads.clicks retention.ms")?["advice"] == "set 604800000: handbill topics create")
        #expect(damaged.state("topics", "ads.clicks min.insync.replicas") == "good")
        #expect(damaged.finding("topics", "ads.responses.chess")?["found"] == "missing")
        #expect(
          damaged.finding("topics", "ads.responses.chess")?["advice"] == "handbill topics create --app chess")
        #expect(damaged.state("postgres", "schema") == "wrong")
        #expect(
          damaged.finding("postgres", "schema")?["advice"] == "handbill migrate up, of the release that is to run")

        // What is made fits what is there, where a new network would have four partitions; the catalogue's count is its own.
        _ = try admin.ensure(KafkaTopicSpecification(name: "ads.catalog", partitionCount: 3))
        try network.command(["topics", "create", "--app", "chess"])
        // As the owner.
        try network.command(["migrate", "up", "--database-url", network.databaseURL])
        let after = try look(network)
        #expect(after.state("topics", "ads.clicks retention.ms") == "good")
        #expect(after.state("topics", "ads.responses.chess") == "good" && after.state("postgres", "schema") == "good")
        for topic in ["ads.responses.chess", "ads.clicks"] {
          #expect(after.finding("topics", topic)?["found"] == "2 partitions")
        }
        let text = try network.command(["doctor", "--app", "chess"], accepting: [1]).output
        #expect(text.contains("do: docs/operations.md") && text.hasSuffix("to change\n"))
      }
    }
  }
}
