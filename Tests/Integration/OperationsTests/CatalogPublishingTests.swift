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

  @Test("everything is told in the order of the changes, and the heartbeat names the last of them")
  func order() {
    var feed = CatalogFeed()
    let rows = [row("z", version: 1, change: 1), row("m", version: 1, change: 4), row("a", version: 3, change: 9)]
    for isWhole in [true, false] {
      let outputs = feed.outputs(changed: isWhole ? rows : [], isWhole: isWhole, now: Timestamp(milliseconds: 1_000))
      let keys = outputs.compactMap { output -> String? in
        guard case .message(.record(let record, _)) = output else { return nil }
        return record.key
      }
      #expect(keys == (isWhole ? ["developer/z", "developer/m", "developer/a"] : []))
      guard case .message(.heartbeat(_, _, _, _, let change))? = outputs.last else { continue }
      #expect(change == 9)
    }
  }

  @Test("changes are told once, everything again when asked, and each round ends with a heartbeat that agrees")
  func feed() {
    var feed = CatalogFeed()
    let now = Timestamp(milliseconds: 1_000)
    let first = feed.outputs(
      changed: [row("a", version: 1, change: 1), row("b", version: 3, change: 4)], isWhole: false, now: now)
    #expect(first.count == 3)
    #expect(heartbeat(first) == [2, 4])
    #expect(feed.lastChange == 4)
    #expect(feed.outputs(changed: [], isWhole: false, now: now).count == 1)
    #expect(feed.outputs(changed: [], isWhole: true, now: now).count == 3)
    let third = feed.outputs(changed: [row("a", version: 2, change: 5)], isWhole: false, now: now)
    #expect(third.count == 2)
    #expect(heartbeat(third) == [2, 5])
  }

  @Test("a deletion counts in the heartbeat for a day, then its tombstone goes out and it counts no more")
  func deletions() {
    var feed = CatalogFeed()
    let deletedAt = Timestamp(milliseconds: 5_000)
    let deleted = row("a", version: 2, change: 2, deletedAt: deletedAt)
    let now = deletedAt.advanced(byMilliseconds: CatalogFeed.deletionMilliseconds - 1)
    let before = feed.outputs(changed: [deleted, row("b", version: 1, change: 1)], isWhole: false, now: now)
    #expect(before.contains(.message(.deleted(key: "developer/a", version: 2))))
    #expect(heartbeat(before) == [2, 3])
    let after = feed.outputs(changed: [], isWhole: false, now: now.advanced(byMilliseconds: 1))
    #expect(after.first == .tombstone(key: "developer/a"))
    #expect(heartbeat(after) == [1, 1])
    #expect(feed.outputs(changed: [], isWhole: false, now: now.advanced(byMilliseconds: 2)).count == 1)
  }

  @Test("a record that a newer program wrote is not told, not counted, and named")
  func unreadable() {
    var feed = CatalogFeed()
    var strange = row("a", version: 1, change: 1)
    strange.body = ["id": "a", "name": "A", "colour": "red"]
    let outputs = feed.outputs(changed: [strange], isWhole: true, now: Timestamp(milliseconds: 0))
    #expect(heartbeat(outputs) == [0, 0])
    #expect(feed.unreadableKeys == ["developer/a"])
  }

  @Test("publishing once puts every record and a heartbeat on the topic, which decode to what the tables hold")
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
    #expect(count == 9)
    #expect(records.count == 8)
    let read = try await onOwnThread { try readTopic(kafka, count: count) }
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
