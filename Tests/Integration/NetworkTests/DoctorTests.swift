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

    private func admin(_ network: TestNetwork) throws -> KafkaAdmin {
      try KafkaAdmin(
        configuration: KafkaConfiguration(
          bootstrapServers: network.bootstrapServers, clientID: "doctor", environment: .real))
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

        let admin = try admin(network)
        defer { admin.close() }
        try admin.bring("ads.clicks", to: ["retention.ms": "1000", "min.insync.replicas": "2"])
        try admin.delete(topic: "ads.responses.chess")
        let connection = try network.connection()
        defer { connection.close() }
        try connection.executeScript("UPDATE public.schema_logic SET checksum = decode(repeat('00', 32), 'hex')")
        let damaged = try look(network)
        #expect(damaged.finding("topics", "ads.clicks retention.ms")?["found"] == "1000")
        #expect(
          damaged.finding("topics", "ads.clicks retention.ms")?["advice"]
            == "what nobody has read by then is lost: set 604800000: handbill topics create --reset-retention")
        #expect(damaged.state("topics", "ads.clicks min.insync.replicas") == "good")
        #expect(damaged.finding("topics", "ads.responses.chess")?["found"] == "missing")
        #expect(
          damaged.finding("topics", "ads.responses.chess")?["advice"] == "handbill topics create --app chess")
        #expect(damaged.state("postgres", "schema") == "wrong")
        #expect(
          damaged.finding("postgres", "schema")?["advice"] == "handbill migrate up, of the release that is to run")

        // What is made fits what is there, where a new network would have four partitions; the catalogue's count is its own.
        _ = try admin.ensure(KafkaTopicSpecification(name: "ads.catalog", partitionCount: 3))
        try network.command(["topics", "create", "--app", "chess", "--reset-retention"])
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

    @Test(
      "A8: who keeps events for another time is left so and told, within what is promised of clients",
      .enabled(if: KafkaInstallation.isAvailable, needsKafka))
    func retention() async throws {
      let network = try await TestNetwork.started(.init(partitions: 1, services: [], apps: ["chess"], catalog: "{}"))
      defer { network.stop() }
      try await onOwnThread {
        let admin = try admin(network)
        defer { admin.close() }
        let (name, month, day) = ("retention.ms", "2592000000", "86400000")
        let (week, quarter) = ("604800000", "7776000000")
        let promised = [
          ("ads.requests", month, day, day), ("ads.responses.chess", month, "3600000", "3600000"),
          ("ads.clicks", "-1", week, quarter), ("ads.clicks.accepted", "7776000001", week, quarter),
        ]
        for (topic, time, _, _) in promised { try admin.bring(topic, to: [name: time]) }
        try admin.bring("ads.impressions", to: [name: month])
        try admin.bring("ads.impressions.accepted", to: [name: quarter])
        try admin.bring("ads.impressions", to: ["message.timestamp.type": "CreateTime"])
        try admin.bring("ads.usage", to: [name: day])
        let before = try look(network)
        #expect(before.state("topics", "ads.impressions \(name)") == "noted")
        #expect(before.state("topics", "ads.impressions message.timestamp.type") == "wrong")
        #expect(before.state("topics", "ads.usage \(name)") == "wrong")
        for (topic, _, time, longest) in promised {
          let advice = before.finding("topics", "\(topic) \(name)")?["advice"]?.textValue
          let words = "docs/privacy.md promises at most \(longest), set \(time): handbill topics create"
          #expect(advice?.hasPrefix(words) == true, "\(topic)")
        }
        #expect(before.state("topics", "ads.impressions.accepted \(name)") == "noted")

        let said = try network.command(["topics", "create", "--app", "chess", "--json"]).output
        let made = try JSONValue.parse(said.utf8).elements ?? []
        func note(_ topic: String) -> String? { made.first { $0["topic"]?.textValue == topic }?["note"]?.textValue }
        let stays = "\(name) stays \(month), not 604800000: --reset-retention sets it"
        #expect(note("ads.impressions") == stays && note("ads.budgets") == nil)
        for (topic, own, time, longest) in promised {
          #expect(note(topic) == "\(name) was \(own): docs/privacy.md promises at most \(longest)")
          #expect(try admin.settings(of: topic)[name] == time)
        }
        #expect(try admin.settings(of: "ads.impressions.accepted")[name] == quarter)
        let kept = try admin.settings(of: "ads.impressions")
        #expect(kept[name] == month && kept["segment.ms"] == "108000000")
        #expect(kept["message.timestamp.type"] == "LogAppendTime")
        let usage = try admin.settings(of: "ads.usage")
        #expect(usage[name] == day && usage["segment.ms"] == "3600000")

        let after = try look(network)
        let subjects = ["ads.impressions segment.ms", "ads.usage segment.ms"] + promised.map { "\($0.0) \(name)" }
        for subject in subjects { #expect(after.state("topics", subject) == "good", "\(subject)") }
        #expect(after.state("topics", "ads.impressions \(name)") == "noted")
        #expect(try network.command(["topics", "create"]).output.contains(stays))
        try network.command(["topics", "create", "--reset-retention"])
        for topic in ["ads.impressions", "ads.usage"] { #expect(try admin.settings(of: topic)[name] == "604800000") }
      }
    }

    @Test(
      "A8: a broker's default is no time that somebody has chosen for a topic: the table's is set",
      .enabled(if: KafkaInstallation.isAvailable, needsKafka))
    func brokersRetention() async throws {
      let network = try await TestNetwork.started(.init(partitions: 1, services: [], apps: ["chess"], catalog: "{}"))
      defer { network.stop() }
      try await onOwnThread {
        let admin = try admin(network)
        defer { admin.close() }
        let (topic, name, month) = ("ads.rejected", "retention.ms", "2592000000")
        // As a broker makes one by itself.
        try admin.delete(topic: topic)
        _ = try admin.ensure(KafkaTopicSpecification(name: topic, partitionCount: 1))
        #expect(try admin.settings(of: topic)[name] == "604800000")
        #expect(try admin.settings(of: topic, onlyOwn: true)[name] == nil)
        let advice = try look(network).finding("topics", "\(topic) \(name)")?["advice"]?.textValue
        #expect(advice == "set \(month): handbill topics create")
        try network.command(["topics", "create"])
        #expect(try admin.settings(of: topic, onlyOwn: true)[name] == month)
        #expect(try look(network).state("topics", "\(topic) \(name)") == "good")
      }
    }
  }
}
