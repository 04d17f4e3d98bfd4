package import AdCore
package import AdEvents

/// The catalogue as read from its compacted topic: each key with its highest version, deletions too. Messages may come
/// in any order and any number of times; the state is the same.
package struct CatalogState: Hashable, Sendable {
  /// What a key holds: a record, or nothing after its deletion.
  package struct Entry: Hashable, Sendable {
    package var record: CatalogRecord?
    package var version: Int64
  }

  /// More keys than this are not taken: memory stays bounded whatever is written to the topic.
  package static let entriesMaximum = 1_000_000

  /// What a message did.
  package enum Change: Hashable, Sendable {
    /// The key holds something new: the snapshot is to be built again.
    case changed
    /// The same version or a later one was known.
    case known
    /// A heartbeat: for ``CatalogFreshness``.
    case heartbeat
    /// ``entriesMaximum`` is reached, or the version is less than 1, or the sum of versions would overflow.
    case refused
  }

  package private(set) var entries: [String: Entry] = [:]
  /// The sum of the versions held, deleted ones included.
  package private(set) var versionSum: Int64 = 0

  package init() {}

  /// How many records are held, deleted ones included.
  package var recordCount: Int64 { Int64(entries.count) }

  /// Takes a message of `ads.catalog`.
  package mutating func apply(_ message: CatalogMessage) -> Change {
    switch message {
    case .record(let record, let version): replace(record.key, Entry(record: record, version: version))
    case .deleted(let key, let version): replace(key, Entry(record: nil, version: version))
    case .heartbeat: .heartbeat
    }
  }

  /// Takes a tombstone (a null value): a deletion a day old leaves the catalogue. A record that is not deleted stays.
  package mutating func applyTombstone(key: String) -> Change {
    guard let entry = entries[key], entry.record == nil else { return .known }
    entries[key] = nil
    versionSum -= entry.version
    return .changed
  }

  /// Whether the heartbeat's number of records and sum of versions are this state's.
  package func matchesHeartbeat(records: Int64, versionSum: Int64) -> Bool {
    records == recordCount && versionSum == self.versionSum
  }

  private mutating func replace(_ key: String, _ entry: Entry) -> Change {
    let before = entries[key]
    guard entry.version >= 1, before != nil || entries.count < CatalogState.entriesMaximum else { return .refused }
    guard entry.version > before?.version ?? 0 else { return .known }
    let (sum, overflow) = versionSum.addingReportingOverflow(entry.version - (before?.version ?? 0))
    guard !overflow else { return .refused }
    versionSum = sum
    entries[key] = entry
    return .changed
  }
}
