import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Postgres
import Records
import Runtime
import TestValues
import Testing

extension WholeNetwork {
  /// Whatever is written into a topic ends with one numbered reason, and processing goes on.
  @Suite struct BadInputTests {
    /// What is sent, and why it is rejected.
    struct Bad: Sendable {
      var value: [UInt8]?
      var contentType: String? = "application/protobuf"
      var reason: RejectionReason
    }

    static let bad: [Bad] = [
      Bad(value: nil, reason: .nullValue),
      Bad(value: [], reason: .emptyValue),
      Bad(value: Array(repeating: 0x41, count: 1 << 19), reason: .tooLarge),
      Bad(value: [8], reason: .malformed),
      Bad(value: [255, 255, 255, 255, 255], reason: .malformed),
      Bad(value: Array("{".utf8), contentType: "application/json", reason: .malformed),
      Bad(value: Array("{\"kind\":7,\"token\":5}".utf8), contentType: "application/json", reason: .malformed),
      Bad(value: Array("{}".utf8), contentType: "application/json", reason: .missingField),
      Bad(value: Array("hello".utf8), contentType: "text/plain", reason: .unknownContentType),
      Bad(value: Array("hello".utf8), contentType: nil, reason: .unknownContentType),
    ]

    @Test(
      "I3: empty, truncated, random, wrong types, null and half a megabyte each end in ads.rejected with their reason")
    func garbage() async throws {
      let network = try await TestNetwork.started(
        .init(
          partitions: 1, services: ["impression-tracking", "click-tracking"], apps: ["chess"],
          catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        try send(network)
        let rows = try awaitRejections(network, count: 2 * Self.bad.count)
        for schema in ["impression_tracking", "click_tracking"] {
          #expect(rows[schema] == Self.bad.map { Int16($0.reason.rawValue) }, "\(schema)")
        }
        #expect(try told(network, count: 2 * Self.bad.count) == 2 * Self.bad.count)
        let reconciled = try network.command(["reconcile"], accepting: [0, 1])
        #expect(reconciled.status == 0, "\(reconciled.output)")
      }
    }

    private func configuration(_ network: TestNetwork) -> KafkaConfiguration {
      var configuration = KafkaConfiguration(
        bootstrapServers: network.bootstrapServers, clientID: "bad-input",
        environment: network.isBrokerEmbedded ? .embedded : .real)
      // So that 1 MB with its headers leaves us: the broker takes it, and the service says why it does not.
      configuration.properties["message.max.bytes"] = "2000000"
      return configuration
    }

    private func send(_ network: TestNetwork) throws {
      let producer = try KafkaProducer(configuration: configuration(network)) { _ in }
      let topics = [Topic.impressions.name, Topic.clicks.name]
      try producer.warmUp(topics: topics, timeoutMilliseconds: 10_000)
      for topic in topics {
        for bad in Self.bad {
          var headers = [
            RecordHeader("ce_id", "bad"), RecordHeader("ce_source", "/test"), RecordHeader("ce_specversion", "1.0"),
          ]
          let type: EventType = topic == Topic.impressions.name ? .impressionViewed : .clickTapped
          headers.append(RecordHeader("ce_type", "\(type.name)"))
          if let contentType = bad.contentType { headers.append(RecordHeader("content-type", contentType)) }
          try producer.send(topic: topic, partition: 0, key: nil, value: bad.value, headers: headers, reportID: 0)
        }
      }
      try #require(producer.close(timeoutMilliseconds: 20_000))
    }

    private func awaitRejections(_ network: TestNetwork, count: Int) throws -> [String: [Int16]] {
      let connection = try network.connection()
      defer { connection.close() }
      var reasons: [String: [Int16]] = [:]
      _ = try Waiting.until {
        reasons = [:]
        for row in try connection.query(
          """
          SELECT 'impression_tracking', reason, record_offset FROM impression_tracking.rejected
          UNION ALL SELECT 'click_tracking', reason, record_offset FROM click_tracking.rejected ORDER BY 1, 3
          """)
        {
          reasons[try row.decode(0), default: []].append(try row.decode(1))
        }
        return reasons.values.reduce(0, { $0 + $1.count }) >= count
      }
      return reasons
    }

    /// How many records `ads.rejected` holds.
    private func told(_ network: TestNetwork, count: Int) throws -> Int {
      let consumer = try KafkaConsumer(configuration: configuration(network), groupID: nil, topics: [])
      defer { consumer.close(timeoutMilliseconds: 1_000) }
      try consumer.assign([
        KafkaTopicPartitionOffset(
          topic: Topic.rejected.name, partition: 0, offset: KafkaTopicPartitionOffset.beginning)
      ])
      var seen = 0
      _ = try Waiting.until {
        _ = try consumer.poll(timeoutMilliseconds: 200, recordsMaximum: 100) { _ in seen += 1 }
        return seen >= count
      }
      return seen
    }
  }
}
