import AdCore
import AdEvents
import JSON
import Kafka
import LocalProcesses
import Pipeline
import Postgres
import Records
import TestServers
import TestServices
import TestValues
import Testing

@testable import Operations

@Suite("Publishing the catalogue")
struct CatalogPublishingTests {
  private func row(_ id: String, version: Int64, change: Int64, deletedAt: Timestamp? = nil) -> CatalogRow {
    CatalogRow(
      key: "developer/\(id)", kind: .developer, body: ["id": .text(id), "name": "Name"], version: version,
      changeNumber: change, changedAt: Timestamp(milliseconds: 0), deletedAt: deletedAt)
  }

  private func heartbeat(_ outputs: [CatalogFeed.Output]) -> [Int64] {
    guard case .message(.heartbeat(let records, let sum, _, _, _))? = outputs.last else { return [] }
    return [records, sum]
  }

  private func keys(_ outputs: [CatalogFeed.Output]) -> [String] {
    outputs.compactMap { output in
      guard case .message(.record(let record, _)) = output else { return nil }
      return record.key
    }
  }

  @Test("everything is told in the order of the changes, and the heartbeat names the last of them")
  func order() {
    var feed = CatalogFeed()
    let now = Timestamp(milliseconds: 1_000)
    let rows = [row("z", version: 1, change: 1), row("m", version: 1, change: 4), row("a", version: 3, change: 9)]
    let outputs = feed.outputs(changed: rows, now: now)
    #expect(keys(outputs) == ["developer/z", "developer/m", "developer/a"])
    guard case .message(.heartbeat(_, _, _, _, let change))? = outputs.last else {
      Issue.record("\(outputs)")
      return
    }
    #expect(change == 9)
  }

  @Test("a change is told at once, and each round ends with a heartbeat that agrees")
  func feed() {
    var feed = CatalogFeed()
    let now = Timestamp(milliseconds: 1_000)
    let first = feed.outputs(
      changed: [row("a", version: 1, change: 1), row("b", version: 3, change: 4)], now: now)
    #expect(first.count == 3)
    #expect(heartbeat(first) == [2, 4])
    #expect(feed.lastChange == 4)
    // What is told again comes first: the last that is told of a record is the latest.
    let second = feed.outputs(changed: [row("a", version: 2, change: 5)], now: now)
    #expect(keys(second) == ["developer/a", "developer/a"])
    #expect(heartbeat(second) == [2, 5])
  }

  @Test(
    "within 30 rounds everything is told again, in the order of the changes; of more than 30,000 records 1,000 a round",
    arguments: [(1, 1), (29, 1), (90, 3), (91, 4), (31_500, 1_000)])
  func again(records: Int, most: Int) {
    var feed = CatalogFeed()
    let now = Timestamp(milliseconds: 1_000)
    let all = (1...records).map { row("\($0)", version: 1, change: Int64($0)) }
    #expect(keys(feed.outputs(changed: all, now: now)).count == records)
    for _ in 1...2 {
      var told: [String] = []
      var rounds = 0
      while told.count < records {
        let outputs = keys(feed.outputs(changed: [], now: now))
        #expect(1...most ~= outputs.count)
        told += outputs
        rounds += 1
      }
      #expect(told == all.map(\.key))
      #expect(rounds <= max(30, (records + 999) / 1_000))
    }
  }

  @Test("a deletion counts in the heartbeat for a day, then its tombstone goes out and it counts no more")
  func deletions() {
    var feed = CatalogFeed()
    let deletedAt = Timestamp(milliseconds: 5_000)
    let deleted = row("a", version: 2, change: 2, deletedAt: deletedAt)
    let now = deletedAt.advanced(byMilliseconds: CatalogFeed.deletionMilliseconds - 1)
    let before = feed.outputs(changed: [deleted, row("b", version: 1, change: 1)], now: now)
    #expect(before.contains(.message(.deleted(key: "developer/a", version: 2))))
    #expect(heartbeat(before) == [2, 3])
    let after = feed.outputs(changed: [], now: now.advanced(byMilliseconds: 1))
    #expect(after.contains(.tombstone(key: "developer/a")))
    #expect(heartbeat(after) == [1, 1])
    // Nobody hears of it again, and of the other again and again.
    let later = (2...5).flatMap { feed.outputs(changed: [], now: now.advanced(byMilliseconds: $0)) }
    #expect(keys(later).count >= 3 && Set(keys(later)) == ["developer/b"])
    #expect(!later.contains { if case .message(.deleted) = $0 { true } else { $0 == .tombstone(key: "developer/a") } })
  }

  @Test("a record that a newer program wrote is not told, not counted, and named")
  func unreadable() {
    var feed = CatalogFeed()
    var strange = row("a", version: 1, change: 1)
    strange.body = ["id": "a", "name": "A", "colour": "red"]
    let outputs = feed.outputs(changed: [strange], now: Timestamp(milliseconds: 0))
    #expect(heartbeat(outputs) == [0, 0])
    #expect(feed.unreadableKeys == ["developer/a"])
  }

  @Test("publishing once puts each record and a heartbeat on the topic, as the tables hold them, and counts records")
  func once() async throws {
    let pool = try await TestDatabase.pool()
    let broker = try EmbeddedBroker()
    defer { broker.stop() }
    try broker.createTopic(Topic.catalog.name, partitions: 1)
    let kafka = KafkaConfiguration(bootstrapServers: broker.bootstrapServers, clientID: "test", environment: .embedded)
    let (count, records) = try await onOwnThread {
      let store = CatalogStore(pool)
      _ = try store.apply(try Samples.read(Samples.file)).get()
      let now = Timestamp(milliseconds: 1_800_000_000_000)
      let count = try CatalogPublisher.publishOnce(pool: pool, kafka: kafka, ring: .sample, now: now)
      return (count, Set(try store.list().compactMap(\.record).map(\.key)))
    }
    #expect(count == 8 && records.count == 8)
    let read = try await onOwnThread { try readTopic(kafka, count: count + 1) }
    let told = read.compactMap { message -> String? in
      guard case .record(let record, _) = message else { return nil }
      return record.key
    }
    #expect(Set(told) == records)
    let versions = read.reduce(Int64(0)) { if case .record(_, let version) = $1 { $0 + version } else { $0 } }
    guard
      case .heartbeat(
        records: 8, versionSum: versions, at: Timestamp(milliseconds: 1_800_000_000_000), nil, let change)? =
        read.last
    else {
      Issue.record("\(read)")
      return
    }
    #expect(change >= 8)
  }
}

/// The first records of the catalogue's topic.
private func readTopic(_ kafka: KafkaConfiguration, count: Int) throws -> [CatalogMessage] {
  let probe = try KafkaTopicProbe(configuration: kafka)
  defer { probe.close(timeoutMilliseconds: 5_000) }
  return try (0..<count).compactMap { offset in
    let found = try probe.record(
      topic: Topic.catalog.name, partition: 0, offset: Int64(offset), timeoutMilliseconds: 10_000)
    guard let record = found, let value = record.value else { return nil }
    var headers = RecordHeaders()
    for header in record.headers {
      headers.add(header)
    }
    let message = try value.withUnsafeBytes { try CatalogMessage.decode(value: $0, headers: headers).get() }
    #expect(record.key == Array(message.key.utf8))
    var received = ReceivedMAC()
    for header in record.headers { header.withUnsafeBytes { received.header(name: $0, value: $1) } }
    let mac = try MessageMAC(ring: .sample)
    let mistake = record.key?.withUnsafeBytes { key in
      value.withUnsafeBytes {
        received.rejection(by: mac, topic: Topic.catalog.name, partition: 0, key: key, value: $0)
      }
    }
    #expect(mistake == .some(nil))
    return message
  }
}
