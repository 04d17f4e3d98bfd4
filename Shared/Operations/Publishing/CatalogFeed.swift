package import AdCore
package import AdEvents

/// What the catalogue's topic is told: every change, everything again every so often, and a heartbeat. Pure: rows and
/// times come in, records for the topic come out.
///
/// The heartbeat counts what this feed has said, deleted records included until their tombstone, so it agrees with a
/// reader that has read everything.
package struct CatalogFeed: Sendable {
  /// One record of the topic.
  package enum Output: Hashable, Sendable {
    case message(CatalogMessage)
    /// A null value: a deletion a day old leaves the topic.
    case tombstone(key: String)
  }

  /// How long a deletion is told before its tombstone, in milliseconds.
  package static let deletionMilliseconds: Int64 = 86_400_000

  private struct Entry: Sendable {
    var message: CatalogMessage
    var version: Int64
    var changeNumber: Int64
    var deletedAt: Timestamp?
  }

  private var entries: [String: Entry] = [:]
  /// The change number up to which rows were taken: the next ones are read after it.
  package private(set) var lastChange: Int64 = 0
  /// Keys whose rows this program cannot read, because a newer one wrote them.
  package private(set) var unreadableKeys: Set<String> = []

  package init() {}

  /// Takes rows changed after ``lastChange`` and answers with what is to be published, the heartbeat last.
  ///
  /// - Parameters:
  ///   - isWhole: publish everything again.
  ///   - stop: why no paid ads are to be served, for the heartbeat; nil while they are.
  package mutating func outputs(
    changed rows: [CatalogRow], isWhole: Bool, stop: PaidAdsStop? = nil, now: Timestamp
  ) -> [Output] {
    var outputs: [Output] = []
    for row in rows {
      lastChange = max(lastChange, row.changeNumber)
      guard let message = CatalogFeed.message(of: row) else {
        unreadableKeys.insert(row.key)
        continue
      }
      unreadableKeys.remove(row.key)
      entries[row.key] = Entry(
        message: message, version: row.version, changeNumber: row.changeNumber, deletedAt: row.deletedAt)
      if !isWhole { outputs.append(.message(message)) }
    }
    outputs += takeTombstones(now: now)
    // In the order of the changes, so that a reader has all changes before the last one that it has read.
    if isWhole {
      outputs += entries.values.sorted { $0.changeNumber < $1.changeNumber }.map { .message($0.message) }
    }
    outputs.append(.message(heartbeat(stop: stop, now: now)))
    return outputs
  }

  private mutating func takeTombstones(now: Timestamp) -> [Output] {
    let due = entries.filter { entry in
      entry.value.deletedAt.map { now.milliseconds(since: $0) >= CatalogFeed.deletionMilliseconds } ?? false
    }
    for key in due.keys { entries[key] = nil }
    return due.keys.sorted().map { .tombstone(key: $0) }
  }

  private func heartbeat(stop: PaidAdsStop?, now: Timestamp) -> CatalogMessage {
    // A version is a time in milliseconds: the sum of as many as readers take is far from overflow.
    .heartbeat(
      records: Int64(entries.count), versionSum: entries.values.reduce(0) { $0 &+ $1.version }, at: now,
      stop: stop, change: lastChange)
  }

  private static func message(of row: CatalogRow) -> CatalogMessage? {
    if row.deletedAt != nil { return .deleted(key: row.key, version: row.version) }
    return row.record.map { .record($0, version: row.version) }
  }
}
