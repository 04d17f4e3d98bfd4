import AdCore
import AdEvents
import Foundation
import Kafka
import LocalProcesses
import Postgres
import Records
import Runtime
import TestServers
import TestValues
import Testing

/// A client of a network's broker.
private func kafkaConfiguration(_ network: TestNetwork) -> KafkaConfiguration {
  KafkaConfiguration(bootstrapServers: network.bootstrapServers, clientID: "test", environment: .real)
}

extension WholeNetwork {
  /// A single broker comes back without the end of `ads.requests`, and clients fill it again.
  @Suite(.enabled(if: KafkaInstallation.isAvailable, "no Kafka in KAFKA_HOME"))
  struct CutRequestsTests {
    private static let (written, kept, new): (UInt64, UInt64, UInt64) = (20, 12, 5)
    private let now = SystemClock().now
    private static let counted = "SELECT coalesce(sum(requests), 0)::bigint FROM ad_selection.all_count"

    @Test(
      "M1: what 'log accept' goes on at was read by nobody: no request of a log that was cut counts twice, nor does one that is read again",
      arguments: [
        (options: [], first: Self.kept, said: ", behind \(Self.kept) records that arrived until "),
        (options: ["--from-beginning"], first: 0, said: "it goes on at 0\n"),
      ] as [(options: [String], first: UInt64, said: String)])
    func accepted(_ log: (options: [String], first: UInt64, said: String)) async throws {
      let network = try await TestNetwork.started(
        .init(
          partitions: 1, services: ["console", "ad-selection"], apps: ["chess"],
          catalog: WholeNetwork.GoldenCaseTests.catalog))
      defer { network.stop() }
      try await onOwnThread {
        try send(0..<Self.written, at: nil, to: network)
        try network.awaitCount(Self.counted, Int(Self.written))
        network.kill("ad-selection")
        try refill(network)
        let accept = ["log", "accept", "ad-selection", "--topic", Topic.requests.name] + log.options
        let mistyped = ["log", "accept", "ad-selection", "--topic", "ads.request"]
        #expect(try network.command(mistyped, accepting: [64]).status == 64)
        // A trial moves nothing, however often.
        for _ in 0..<2 {
          let trial = try network.command(accept + ["--dry-run"]).output
          #expect(trial.contains("it would go on at \(log.first)"), "\(trial)")
        }
        let said = try network.command(accept).output
        #expect(said.contains("it goes on at \(log.first)") && said.contains(log.said), "\(said)")
        try network.start("ad-selection")
        try network.awaitReadiness("ad-selection")
        try network.awaitCount(
          "SELECT next_offset FROM ad_selection.input WHERE topic = 'ads.requests'", Int(Self.kept + Self.new))
        try network.awaitCount(Self.counted, Int(Self.written + Self.new))
        let decided = "SELECT count(*) FROM ad_selection.decision"
        try network.awaitCount(decided, Int(Self.written + Self.new))
        #expect(try network.command(["reconcile"], accepting: [0, 1]).status == 0)
        // Whoever makes topics by hand hears what they lack: the time would be the clients', and memory without a bound.
        let log = network.log("ad-selection")
        for wrong in [
          "message.timestamp.type is CreateTime", "compression.type is producer", "max.message.bytes is 2000000",
          "unclean.leader.election.enable is true",
        ] {
          #expect(log.contains("\(Topic.requests.name): \(wrong)"), "\(wrong)")
        }
        // What clients say of their time is not when their records arrived.
        #expect(log.contains("records count as having arrived when they are read"))
        try network.awaitCount("SELECT count(*) FROM ad_selection.decision WHERE arrival > now() + interval '60 s'", 0)
        try network.awaitCount(
          "SELECT count(*) FROM ad_selection.partition WHERE watermark > now() + interval '60 s'", 0)
      }
    }

    /// The log is made anew with the records that were kept, at their own times, and what clients wrote since.
    private func refill(_ network: TestNetwork) throws {
      let probe = try KafkaTopicProbe(configuration: kafkaConfiguration(network))
      let last = try #require(
        try probe.record(
          topic: Topic.requests.name, partition: 0, offset: Int64(Self.kept) - 1, timeoutMilliseconds: 10_000))
      probe.close(timeoutMilliseconds: 1_000)
      let admin = try KafkaAdmin(configuration: kafkaConfiguration(network))
      defer { admin.close() }
      try admin.delete(topic: Topic.requests.name)
      // A cut log has the brokers' times of old: here they are told.
      let specification = KafkaTopicSpecification(
        name: Topic.requests.name, partitionCount: 1,
        settings: [
          "message.timestamp.type": "CreateTime", "max.message.bytes": "2000000",
          "unclean.leader.election.enable": "true",
        ])
      #expect(Waiting.until { (try? admin.ensure(specification)) == .created })
      try send(0..<Self.kept, at: last.timestampMilliseconds, to: network)
      // Half an hour ahead.
      try send(Self.written..<Self.written + Self.new, at: SystemClock().now.milliseconds + 1_800_000, to: network)
    }

    private func send(_ numbers: Range<UInt64>, at time: Int64?, to network: TestNetwork) throws {
      let producer = try KafkaProducer(configuration: kafkaConfiguration(network)) { _ in }
      try producer.warmUp(topics: [Topic.requests.name], timeoutMilliseconds: 10_000)
      let reply = CloudEventHeaders.reply(
        topic: Topic.responses(for: known(AppID("chess"))), partition: 0, correlationID: [1])
      for number in numbers {
        let request = AdRequest.sample(number, at: now) {
          ($0.app, $0.appKey) = (known(AppID("chess")), WholeNetwork.GoldenCaseTests.key)
        }
        try producer.send(
          topic: Topic.requests.name, partition: 0, key: Array(request.clientID.utf8), value: request.encoded(),
          headers: CloudEventHeaders(type: .adRequested, source: "/test").headers(id: "\(number)", time: now) + reply,
          timestampMilliseconds: time, reportID: number)
      }
      try #require(producer.close(timeoutMilliseconds: 20_000))
    }
  }

  /// Topics get more partitions under load, those first that make tokens name the new ones.
  @Suite(.enabled(if: KafkaInstallation.isAvailable, "no Kafka in KAFKA_HOME"))
  struct GrowingTopicsTests {
    private static let apps = ["weather", "tide-tables", "chess", "puzzle-farm", "reader", "recipes", "sketches"]
    private static let (before, after): (Int32, Int32) = (1, 2)
    /// What ad selection reads and writes grows, and all else only when a service that looks at nothing else would use that
    /// already.
    private static let aheadMilliseconds = 8_000

    @Test("no genuine token names a partition that a tracker does not know, in whatever order topics grow")
    func tokens() async throws {
      let network = try await TestNetwork.started(
        .init(partitions: Int(Self.before), apps: Self.apps, catalog: "{}"))
      defer { network.stop() }
      try await onOwnThread {
        try network.command(["seed"])
        try network.awaitAllotments()
      }
      let tally = network.folder.path("tally.json")
      async let shown = onOwnThread {
        try network.command(["simulate", "--duration", "25s", "--rate", "30", "--tally", tally])
      }
      try await onOwnThread { try grow(network) }
      _ = try await shown
      try await onOwnThread {
        try network.command(["drain", "--timeout", "120s"])
        try network.awaitCondition(
          "EXISTS (SELECT FROM impression_tracking.impression WHERE partition >= \(Self.before))")
        for schema in ["impression_tracking", "click_tracking"] {
          try network.awaitCount(
            """
            SELECT count(*) FROM \(schema).rejected WHERE reason = vocabulary.rejection_reason('unknownPartition')
            """, 0)
        }
        let reconciled = try network.command(["reconcile", "--tally", tally], accepting: [0, 1])
        #expect(reconciled.status == 0, "\(reconciled.output)")
      }
    }

    private func grow(_ network: TestNetwork) throws {
      let admin = try KafkaAdmin(configuration: kafkaConfiguration(network))
      defer { admin.close() }
      let first: [Topic] = [.requests, .budgets, .usage]
      let topics = Topic.networkSettings(networkPartitions: Self.after).filter { $0.partitions == Self.after }
      func grow(_ isWanted: (TopicSettings) -> Bool) throws {
        for topic in topics where isWanted(topic) {
          try admin.ensure(
            KafkaTopicSpecification(name: topic.name, partitionCount: topic.partitions, settings: topic.configuration))
        }
      }
      try grow { topic in first.contains { $0.name == topic.name } }
      // Nothing tells that something is not done.
      Waiting.pause(milliseconds: Self.aheadMilliseconds)
      try grow { _ in true }
      try network.command(["topics", "create", "-p", "\(Self.after)"] + Self.apps.flatMap { ["--app", $0] })
    }
  }
}
