import AdCore
import AdEvents
import Kafka
import LocalProcesses
import Postgres
import Records
import Runtime
import TestValues
import Testing

extension WholeNetwork {
  /// What a rejected record says of its client, and the key that it came with, is kept nowhere.
  @Suite struct RejectedPrivacyTests {
    private static let services = ["ad-selection", "impression-tracking"]
    private static let secrets = ["client-of-somebody-4711", "session-of-somebody-0815", "key-of-an-app-1234567890"]
    private static let json = """
      {"requestId": "AZg7CgAAcACAAAAAAAAAAQ==", "app": "chess", "placement": "end of game", "appKey": "\(secrets[2])",
       "clientId": "\(secrets[0])", "sessionId": "\(secrets[1])", "country": "us", "segments": ["\(secrets[0])"]}
      """
    private static let failure = """
      {"kind": "KIND_FAILED", "error": 99, "request": {"requestId": "AZg7CgAAcACAAAAAAAAAAQ==", "app": "chess",
       "placement": "end of game", "clientId": "\(secrets[0])", "sessionId": "\(secrets[1])"}}
      """

    @Test("A8: rejected requests keep no client id, session id or app key in clear, in no table, topic or log")
    func nowhere() async throws {
      let network = try await TestNetwork.started(
        .init(
          partitions: 1, services: Self.services + ["console"], apps: ["chess"],
          catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        let sent = try send(network)
        try network.awaitCount(
          "SELECT (SELECT count(*) FROM ad_selection.rejected) + (SELECT count(*) FROM impression_tracking.rejected)",
          sent)
        // Each has its row, its reason and its hash, and what can be read of it but for the secrets.
        try network.awaitCount(
          "SELECT count(*) FROM ad_selection.rejected WHERE octet_length(value_hash) = 32 AND value_length > 0",
          sent - 1)
        try network.awaitCount(
          "SELECT count(*) FROM ad_selection.rejected WHERE position('end of game'::bytea IN value) > 0", 2)
        try network.awaitCount("SELECT count(*) FROM ad_selection.outbox", 0)
        #expect(try tables(network) == [])
        #expect(try topic(network, records: sent).filter(Self.names).isEmpty)
        for service in Self.services { #expect(!Self.names(Array(network.log(service).utf8)), "\(service)") }
      }
    }

    @Test(
      "A8: privacy finds a person by the client id or the session id that the app sent, and says where it finds nobody")
    func asked() async throws {
      let network = try await TestNetwork.started(
        .init(
          partitions: 1, services: ["ad-selection", "console"], apps: ["chess"],
          catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        try ask(network, client: "a-person", session: "its-session")
        try ask(network, client: "", session: "a-session")
        try network.awaitCount("SELECT count(*) FROM ad_selection.decision WHERE app = 'chess'", 2)
        func run(_ verb: String, _ client: String, app: String = "chess") throws -> (status: Int32, output: String) {
          try network.command(["privacy", verb, "--app", app, "--client", client, "--json"], accepting: [0, 1])
        }
        for id in ["a-person", "a-session"] {
          #expect(try run("export", id).output.contains("\"app\": \"chess\""), "\(id)")
          #expect(try run("erase", id).output.contains("\"requests\": 1"), "\(id)")
          #expect(try run("export", id) == (0, "[]\n"), "\(id)")
        }
        // Whoever sends a client id is not known by the session; of an app that nobody knows the id is likely a slip.
        #expect(try run("erase", "its-session").output.contains("\"requests\": 0"))
        #expect(try run("erase", "a-person", app: "chesss").status == 1)
        try network.awaitCount("SELECT count(*) FROM ad_selection.decision WHERE client_hash <> 0", 0)
      }
    }

    private func ask(_ network: TestNetwork, client: String, session: String) throws {
      let now = SystemClock().now
      let request = AdRequest.sample(UInt64(client.utf8.count), at: now) {
        ($0.app, $0.appKey) = (known(AppID("chess")), WholeNetwork.GoldenCaseTests.key)
        ($0.clientID, $0.sessionID) = (client, session)
      }
      let headers =
        CloudEventHeaders(type: .adRequested, source: "/test").headers(id: "one", time: now)
        + CloudEventHeaders.reply(
          topic: Topic.responses(for: request.app), partition: 0, correlationID: [1])
      let producer = try KafkaProducer(configuration: configuration(network)) { _ in }
      try producer.warmUp(topics: [Topic.requests.name], timeoutMilliseconds: 10_000)
      try producer.send(
        topic: Topic.requests.name, partition: 0, key: Array((client.isEmpty ? session : client).utf8),
        value: request.encoded(), headers: headers, reportID: 0)
      try #require(producer.close(timeoutMilliseconds: 20_000))
    }

    private static func names(_ bytes: [UInt8]) -> Bool {
      let text = String(decoding: bytes, as: UTF8.self)
      return secrets.contains { text.contains($0) }
    }

    private func configuration(_ network: TestNetwork) -> KafkaConfiguration {
      KafkaConfiguration(
        bootstrapServers: network.bootstrapServers, clientID: "privacy",
        environment: network.isBrokerEmbedded ? .embedded : .real)
    }

    /// How many records went out.
    private func send(_ network: TestNetwork) throws -> Int {
      let producer = try KafkaProducer(configuration: configuration(network)) { _ in }
      try producer.warmUp(topics: [Topic.requests.name, Topic.impressions.name], timeoutMilliseconds: 10_000)
      var request = AdRequest.sample()
      (request.clientID, request.sessionID, request.appKey) = (Self.secrets[0], Self.secrets[1], Self.secrets[2])
      var spoiled = WireWriter(output: request.encoded())
      spoiled.text(4, "end of game")
      let jsonType = RecordHeader("content-type", "application/json")
      let records: [(Topic, [UInt8], [RecordHeader])] = [
        (.requests, spoiled.output, [CloudEventHeaders.protobufType]),
        (.requests, Array(Self.json.utf8), [jsonType]),
        (.requests, Array(Self.json.utf8.dropLast(3)), [jsonType]),
        (.requests, spoiled.output.dropLast(2), [CloudEventHeaders.protobufType]),
        (
          .requests, spoiled.output,
          [RecordHeader("x-client", Self.secrets[0]), RecordHeader("ce_source", Self.secrets[1])]
        ),
        (.impressions, Array(Self.failure.utf8), [jsonType]),
      ]
      for (topic, value, headers) in records {
        let type: EventType = topic == .requests ? .adRequested : .impressionViewed
        try producer.send(
          topic: topic.name, partition: 0, key: Array(Self.secrets[0].utf8), value: value,
          headers: CloudEventHeaders(type: type, source: "/test").headers(id: "one", time: SystemClock().now)
            .filter { header in !headers.contains { $0.name == header.name } } + headers,
          reportID: 0)
      }
      try #require(producer.close(timeoutMilliseconds: 20_000))
      return records.count
    }

    /// Tables that hold a secret, as text or as bytes.
    private func tables(_ network: TestNetwork) throws -> [String] {
      let connection = try network.connection()
      defer { connection.close() }
      let names = try connection.query(
        """
        SELECT c.oid::regclass::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relkind = 'r' AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
        """)
      var found: [String] = []
      for row in names {
        let name: String = try row.decode(0)
        let sql = """
          SELECT EXISTS (SELECT FROM \(name) AS t, unnest($1::text[]) AS secret WHERE position(secret IN t::text) > 0
            OR position(encode(convert_to(secret, 'UTF8'), 'hex') IN t::text) > 0)
          """
        if try connection.query(sql, [Self.secrets]).first?.decode(0) == true { found.append(name) }
      }
      return found
    }

    /// Values on `ads.rejected`.
    private func topic(_ network: TestNetwork, records: Int) throws -> [[UInt8]] {
      let consumer = try KafkaConsumer(configuration: configuration(network), groupID: nil, topics: [])
      defer { consumer.close(timeoutMilliseconds: 1_000) }
      try consumer.assign([
        KafkaTopicPartitionOffset(
          topic: Topic.rejected.name, partition: 0, offset: KafkaTopicPartitionOffset.beginning)
      ])
      var values: [[UInt8]] = []
      _ = try Waiting.until {
        _ = try consumer.poll(timeoutMilliseconds: 200, recordsMaximum: 100) {
          values.append(Array($0.value ?? .init(start: nil, count: 0)))
        }
        return values.count >= records
      }
      #expect(values.count >= records)
      return values
    }
  }
}
