package import AdCore
package import AdEvents
package import Kafka
internal import PipelineHost
internal import Threads

/// What the catalogue's topic holds: each key with its highest version.
///
/// Whoever publishes looks into it first. Readers keep the highest version that they have read, so tables that were
/// restored from a backup, and speak with lower ones, would never agree with them again.
package struct CatalogTopic: Sendable {
  private var messages: [String: (message: CatalogMessage, version: Int64)] = [:]

  package init(_ messages: [CatalogMessage] = []) {
    for message in messages { take(message) }
  }

  private mutating func take(_ message: CatalogMessage) {
    let version: Int64
    switch message {
    case .record(_, let told), .deleted(_, let told): version = told
    case .heartbeat: return
    }
    if version > messages[message.key]?.version ?? 0 { messages[message.key] = (message, version) }
  }

  /// What the topic holds above `rows`, which are all rows, in the order of the keys.
  package func losses(of rows: [CatalogRow]) -> [CatalogLoss] {
    let stored = Dictionary(rows.map { ($0.key, $0.version) }) { first, _ in first }
    return messages.sorted { $0.key < $1.key }.compactMap { key, told in
      guard told.version > stored[key] ?? 0, let kind = CatalogKind(key: key) else { return nil }
      var record: CatalogRecord?
      if case .record(let held, _) = told.message { record = held }
      return CatalogLoss(key: key, kind: kind, record: record, version: told.version, storedVersion: stored[key])
    }
  }

  // MARK: Reading

  /// The topic's end was not reached in time.
  package struct NotRead: Error, Sendable, CustomStringConvertible {
    package let timeoutMilliseconds: Int32
    package var description: String {
      "the topic \(Topic.catalog.name) was not read to its end within \(timeoutMilliseconds) ms: see what "
        + "'handbill doctor' says of the brokers, then try again"
    }
  }

  private static let pollMilliseconds: Int32 = 250
  private static let recordsMaximum = 1_000

  /// Reads the topic from its beginning to where it ends now; of its records those under the network's keys. Blocks.
  ///
  /// - Throws: `KafkaError`, `CryptoError` or ``NotRead``.
  package static func read(
    _ kafka: KafkaConfiguration, ring: KeyRing, timeoutMilliseconds: Int32 = 60_000
  ) throws -> CatalogTopic {
    let mac = try MessageMAC(ring: ring)
    let log = KafkaTopicPartition(topic: Topic.catalog.name, partition: 0)
    let consumer = try KafkaConsumer(configuration: kafka, groupID: nil, topics: [])
    defer { consumer.abandon() }
    let deadline = Deadline(afterMilliseconds: timeoutMilliseconds)
    let first = try consumer.firstOffset(of: log, timeoutMilliseconds: timeoutMilliseconds)
    try consumer.assign([KafkaTopicPartitionOffset(log, offset: first)])
    var topic = CatalogTopic()
    while true {
      let events = try consumer.poll(timeoutMilliseconds: pollMilliseconds, recordsMaximum: recordsMaximum) { record in
        if case .success(.message(let message)) = CatalogFollower.Item.read(record, by: mac) { topic.take(message) }
      }
      for event in events {
        switch event {
        case .endReached: return topic
        case .error(let error): if error.isFatal || error.kind == .offsetOutOfRange { throw error }
        }
      }
      guard !deadline.isOver else { throw NotRead(timeoutMilliseconds: timeoutMilliseconds) }
    }
  }
}

/// A record that the catalogue's topic holds and the tables have lost.
package struct CatalogLoss: Hashable, Sendable {
  package var key: String
  package var kind: CatalogKind
  /// As it was in force; nil where it was deleted.
  package var record: CatalogRecord?
  /// In the topic.
  package var version: Int64
  /// In the tables; nil where they have nothing by this key.
  package var storedVersion: Int64?
}

/// The database has lost commits: the catalogue's topic holds later versions than its tables. Nothing is published before
/// a person has decided, so that readers keep what they have.
package struct CatalogBehindTopic: Error, Hashable, Sendable, CustomStringConvertible {
  package let losses: [CatalogLoss]

  package var description: String {
    let keys = losses.prefix(3).map(\.key).joined(separator: ", ")
    return
      "the topic \(Topic.catalog.name) holds later versions of \(losses.count) records than the database (\(keys)): "
      + "commits were lost, as by a restored backup; 'handbill restore accept' goes on from there"
  }
}
