internal import AdCore
package import AdEvents

/// The catalogue as read from its compacted topic: each key with its highest version, deletions too. Messages may come
/// in any order and any number of times; the state is the same.
package struct CatalogState: Sendable {
  /// What a key holds: a record, or nothing after its deletion.
  private struct Entry: Sendable {
    var name: CatalogRecords.Name?
    var version: Int64
  }

  /// More keys than this are not taken: memory stays bounded whatever is written to the topic.
  package static let entriesMaximum = 1_000_000

  /// What a message did.
  package enum Change: Hashable, Sendable {
    /// The key holds something new, which may change what is named.
    case changed(CatalogRecords.Concern)
    /// The same version or a later one was known.
    case known
    /// A heartbeat: for ``CatalogFreshness``.
    case heartbeat
    /// ``entriesMaximum`` is reached, or the version is less than 1, or the sum of versions would overflow.
    case refused
  }

  package private(set) var records = CatalogRecords()
  private var entries: [String: Entry] = [:]
  /// The sum of the versions held, deleted ones included.
  package private(set) var versionSum: Int64 = 0

  package init() {}

  /// How many records are held, deleted ones included.
  package var recordCount: Int64 { Int64(entries.count) }

  /// Takes a message of `ads.catalog`.
  package mutating func apply(_ message: CatalogMessage) -> Change {
    switch message {
    case .record(let record, let version): replace(record.key, record, version: version)
    case .deleted(let key, let version): replace(key, nil, version: version)
    case .heartbeat: .heartbeat
    }
  }

  /// Takes a tombstone (a null value): a deletion a day old leaves the catalogue. A record that is not deleted stays.
  package mutating func applyTombstone(key: String) -> Change {
    guard let entry = entries[key], entry.name == nil else { return .known }
    entries[key] = nil
    versionSum -= entry.version
    return .changed(CatalogRecords.Concern())
  }

  /// Whether the heartbeat's number of records and sum of versions are this state's.
  package func matchesHeartbeat(records: Int64, versionSum: Int64) -> Bool {
    records == recordCount && versionSum == self.versionSum
  }

  /// Whether apps, keys, standings or settings have changed since this was last asked.
  mutating func takeAppChange() -> Bool { records.takeAppChange() }

  private mutating func replace(_ key: String, _ record: CatalogRecord?, version: Int64) -> Change {
    let before = entries[key]
    guard version >= 1, before != nil || entries.count < CatalogState.entriesMaximum else { return .refused }
    guard version > before?.version ?? 0 else { return .known }
    let (sum, overflow) = versionSum.addingReportingOverflow(version - (before?.version ?? 0))
    guard !overflow else { return .refused }
    versionSum = sum
    entries[key] = Entry(name: record.map(CatalogRecords.Name.init), version: version)
    return .changed(records.replace(before?.name, by: record))
  }
}
