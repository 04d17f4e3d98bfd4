package import AdCore
package import AdEvents

/// What the catalogue's topic is told: every change, everything again little by little, and a heartbeat. Pure: rows and
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

  /// In how many rounds everything is told again, unless a round would have more than ``againMaximum``.
  private static let roundsOfAll = 30
  /// The most that a round tells again, so that a large catalogue costs its readers, who take a heartbeat each round, and
  /// the topic's disk no more than a small one.
  private static let againMaximum = 1_000

  private struct Entry: Sendable {
    var message: CatalogMessage
    var version: Int64
    var changeNumber: Int64
    var deletedAt: Timestamp?
  }

  private var entries: [String: Entry] = [:]
  /// What is to be told again until all was, the next last; and how many in a round.
  private var again: [String] = []
  private var againCount = 0
  /// The change number up to which rows were taken: the next ones are read after it.
  package private(set) var lastChange: Int64 = 0
  /// Keys whose rows this program cannot read, because a newer one wrote them.
  package private(set) var unreadableKeys: Set<String> = []

  package init() {}

  /// One round: takes rows changed after ``lastChange``, in the order of their changes, and answers with what is to be
  /// published, the heartbeat last.
  ///
  /// - Parameter stop: why no paid ads are to be served, for the heartbeat; nil while they are.
  package mutating func outputs(changed rows: [CatalogRow], stop: PaidAdsStop? = nil, now: Timestamp) -> [Output] {
    var outputs = takeAgain()
    for row in rows {
      lastChange = max(lastChange, row.changeNumber)
      guard let message = CatalogFeed.message(of: row) else {
        unreadableKeys.insert(row.key)
        continue
      }
      unreadableKeys.remove(row.key)
      entries[row.key] = Entry(
        message: message, version: row.version, changeNumber: row.changeNumber, deletedAt: row.deletedAt)
      outputs.append(.message(message))
    }
    outputs += takeTombstones(now: now)
    outputs.append(.message(heartbeat(stop: stop, now: now)))
    return outputs
  }

  private mutating func takeAgain() -> [Output] {
    if again.isEmpty {
      again = entries.sorted { $0.value.changeNumber > $1.value.changeNumber }.map(\.key)
      againCount = min((again.count + Self.roundsOfAll - 1) / Self.roundsOfAll, Self.againMaximum)
    }
    let keys = again.suffix(againCount)
    again.removeLast(keys.count)
    return keys.reversed().compactMap { key in entries[key].map { .message($0.message) } }
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
