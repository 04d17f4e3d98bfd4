import AdCore
import AdEvents
import Foundation
import JSON
import Kafka
import LocalProcesses
import Operations
import Postgres
import Runtime
import TestValues
import Testing

extension WholeNetwork {
  /// What was rejected can be looked at, and sent again once its reason is gone.
  @Suite struct RejectedTests {
    private static let newKey = "2:" + Data(repeating: 7, count: 32).base64EncodedString()
    private static let bothKeys = ["HANDBILL_TOKEN_KEYS": TestNetwork.keys + "," + newKey]
    private static let services = ["impression-tracking", "click-tracking"]

    @Test("M4: a view and a tap rejected for an unknown key, and replayed twice after it was added, count once each")
    func replay() async throws {
      let network = try await TestNetwork.started(
        .init(partitions: 2, services: Self.services, apps: ["chess"], catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        try send(network)
        try network.awaitCount(Self.rejectedRows, 5)
        try look(network)
        #expect(try outlooks(network, ["--reason", "75"], settings: [:]) == ["rejected", "rejected"])

        for service in Self.services {
          network.kill(service)
          try network.start(service, settings: Self.bothKeys)
        }
        for service in Self.services { try network.awaitReadiness(service) }
        #expect(try outlooks(network, ["--reason", "75"], settings: Self.bothKeys) == ["taken", "taken"])
        try replay(network, recordsBefore: 5)
        try network.awaitCount(Self.counted, 2)
        #expect(try outlooks(network, ["--reason", "75"], settings: Self.bothKeys) == ["duplicate", "duplicate"])

        try replay(network, recordsBefore: 7)
        try network.awaitCount(Self.decidedRecords, 9)
        try network.awaitCount(Self.counted, 2)
        try network.awaitCount(Self.rejectedRows, 5)

        // After two days its key is gone: it cannot be sent, and is not said to be another's.
        let connection = try network.connection()
        defer { connection.close() }
        try connection.executeScript("UPDATE click_tracking.rejected SET record_key = NULL")
        let aged = try network.command(
          ["rejected", "replay", "--dry-run", "--json", "--reason", "75"], accepting: [1], settings: Self.bothKeys)
        #expect(aged.output.contains("its key is not kept") && !aged.output.contains("notItsClient"), "\(aged.output)")
      }
    }

    private static let rejectedRows = """
      SELECT (SELECT count(*) FROM impression_tracking.rejected) + (SELECT count(*) FROM click_tracking.rejected)
      """
    private static let counted = """
      SELECT (SELECT count(*) FROM impression_tracking.impression) + (SELECT count(*) FROM click_tracking.click
        WHERE verdict = vocabulary.click_verdict('billable'))
      """
    /// Of what clients write: every record up to the position is decided.
    private static let decidedRecords = """
      SELECT coalesce(sum(next_offset), 0)::bigint FROM (
        SELECT next_offset FROM impression_tracking.input WHERE topic = 'ads.impressions'
        UNION ALL SELECT next_offset FROM click_tracking.input WHERE topic = 'ads.clicks') AS i
      """

    // MARK: Steps

    /// A view and a tap under the new key, and garbage: a piece of a message, and much more than is kept.
    private func send(_ network: TestNetwork) throws {
      var configuration = KafkaConfiguration(
        bootstrapServers: network.bootstrapServers, clientID: "rejected",
        environment: network.isBrokerEmbedded ? .embedded : .real)
      configuration.properties["message.max.bytes"] = "2000000"
      let producer = try KafkaProducer(configuration: configuration) { _ in }
      try producer.warmUp(topics: [Topic.impressions.name, Topic.clicks.name], timeoutMilliseconds: 10_000)
      let token = try token()
      let identity = EventIdentity(idHash: 0, time: nil)
      let viewed = ImpressionEvent(
        kind: .viewed, subject: .serve(token: token), age: .milliseconds(1_000), error: nil, identity: identity)
      let tapped = ClickEvent(
        kind: .click, token: token, age: .milliseconds(1_500), actionMilliseconds: 2_000, leftApplication: false,
        identity: identity)
      func send(_ type: EventType, _ value: [UInt8]?) throws {
        let topic: Topic = type == .clickTapped ? .clicks : .impressions
        let headers = CloudEventHeaders(type: type, source: "/test")
          .headers(id: "one", time: SystemClock().now)
        try producer.send(
          topic: topic.name, partition: 1, key: Array("somebody".utf8), value: value,
          headers: headers, reportID: 0)
      }
      try send(.impressionViewed, viewed.encoded())
      try send(.impressionViewed, [8])
      try send(.impressionViewed, Array(repeating: 65, count: 100_000))
      try send(.impressionViewed, nil)
      try send(.clickTapped, tapped.encoded())
      try #require(producer.close(timeoutMilliseconds: 20_000))
    }

    private func token() throws -> [UInt8] {
      let issued = SystemClock().now.advanced(byMilliseconds: -60_000)
      let ring = try KeyRing(configuration: Self.newKey)
      let hasher = try ClientHasher(ring: ring)
      let terms = try ServedTerms.sample(partition: 1, issuedAt: issued) {
        ($0.app, $0.developer) = (try #require(AppID("chess")), try #require(DeveloperID("yardley")))
        ($0.campaign, $0.ad) = (try #require(CampaignID("launch")), try #require(AdID("launch-1")))
        $0.clientHash = hasher.hash(app: $0.app, clientID: "somebody", sessionID: "", now: issued)
      }
      return try ServeTokenIssuer(ring: ring).issue(terms)
    }

    private func look(_ network: TestNetwork) throws {
      let summary = try json(network, ["list", "--summary", "--topic", "ads.impressions"])
      let counts = (summary.elements ?? []).compactMap { row -> String? in
        guard let name = row["reasonName"]?.textValue, let records = row["records"]?.integerValue,
          let whole = row["whole"]?.integerValue
        else { return nil }
        return "\(name) \(records) \(whole)"
      }
      #expect(counts == ["nullValue 1 1", "tooLarge 1 0", "malformed 1 0", "tokenKeyUnknown 1 1"])

      let list = try json(network, ["list", "--reason", "token-key-unknown", "--service", "click-tracking"])
      #expect(list["rows"]?.elements?.count == 1 && list["rowsTotal"] == 1 && list["isCut"] == false)
      let reference = try #require(list["rows"]?.elements?.first?["reference"]?.textValue)
      let cut = try json(network, ["list", "--topic", "ads.impressions", "--limit", "3"])
      #expect(cut["rows"]?.elements?.count == 3 && cut["rowsTotal"] == 4 && cut["isCut"] == true)
      #expect(reference == "click-tracking/ads.clicks/1/0")
      let story = try json(network, ["show", reference], settings: Self.bothKeys)
      #expect(story["reason"]?["number"]?.integerValue == 75)
      #expect(story["headers"]?["ce_id"]?.textValue == "one")
      #expect(story["key"]?.textValue == "somebody")
      #expect(story["event"]?["kind"]?.textValue == "KIND_CLICK")
      #expect(story["token"]?["app"]?.textValue == "chess")
      #expect(story["batch"]?["firstOffset"]?.integerValue == 0)
      #expect(story["replay"]?["outlook"]?.textValue == "taken")
      let text = try network.command(["rejected", "show", reference]).output
      #expect(text.contains("click-tracking/ads.clicks/1/0") && text.contains("tokenKeyUnknown"))
      #expect(try network.command(["rejected", "list"]).output.contains("tooLarge"))
      #expect(try network.command(["rejected", "show", "billing/ads.usage/0/0"], accepting: [1]).status == 1)

      // What is not whole is not sent, and that is a failure; without --yes nothing is.
      let kept = try network.command(
        ["rejected", "replay", "--dry-run", "--json", "impression-tracking/ads.impressions/1/2"], accepting: [1])
      #expect(kept.output.contains("impossible"))
      #expect(try network.command(["rejected", "replay", "--reason", "75"], accepting: [64]).status == 64)
      #expect(try network.command(["rejected", "replay", "--yes"], accepting: [64]).status == 64)
    }

    private func json(
      _ network: TestNetwork, _ words: [String], settings: [String: String] = [:], accepting: Set<Int32> = [0]
    ) throws -> JSONValue {
      let said = try network.command(["rejected"] + words + ["--json"], accepting: accepting, settings: settings)
      return try JSONValue.parse(said.output.utf8)
    }

    private func outlooks(
      _ network: TestNetwork, _ words: [String], settings: [String: String]
    ) throws -> [String] {
      let plan = try json(network, ["replay", "--dry-run"] + words, settings: settings)
      return (plan["records"]?.elements ?? []).compactMap { $0["outlook"]?.textValue }
    }

    /// Sends both again, and waits until they are decided.
    private func replay(_ network: TestNetwork, recordsBefore: Int) throws {
      let sent = try json(network, ["replay", "--yes", "--reason", "75"], settings: Self.bothKeys)
      #expect(sent["sent"]?.integerValue == 2)
      try network.awaitCount(Self.decidedRecords, recordsBefore + 2)
    }
  }
}
