internal import AdCore
internal import AdEvents
internal import AdSelectionCore
internal import Operations
internal import Postgres

/// The catalogue after whatever change an auction names, with changes laid over it: read from the history in pages, and
/// kept going from one change to the next.
struct LoggedCatalog {
  private static let rowsMaximum: Int64 = 2_000

  private let overlay: CatalogOverlay
  private var current: CatalogReplay?
  /// Where ``current`` began: each partition goes on from there again.
  private var beginning: CatalogReplay?
  private var rules: AuctionRules?
  /// Of the records of which the overlay sets members, those that are there.
  private(set) var editedKeys: Set<String> = []

  init(overlay: CatalogOverlay) { self.overlay = overlay }

  /// What an auction decides by at a moment that names `change` and followed `rules`.
  mutating func snapshot(
    after change: Int64, rules: AuctionRules, now: Timestamp, _ connection: PostgresConnection
  ) throws -> CatalogSnapshot {
    if rules != self.rules { (current, beginning, self.rules) = (nil, nil, rules) }
    if let current, current.change > change { self.current = beginning?.restarted() }
    if let current, current.change > change { self.current = nil }
    var replay: CatalogReplay
    if let current {
      replay = current
    } else {
      replay = try load(after: change, rules: rules, now: now, connection)
      beginning = replay
    }
    // Nothing is held twice while it changes.
    current = nil
    while replay.change < change { try advance(&replay, to: change, connection) }
    defer { current = replay }
    return replay.snapshot(at: now)
  }

  private mutating func load(
    after change: Int64, rules: AuctionRules, now: Timestamp, _ connection: PostgresConnection
  ) throws -> CatalogReplay {
    var messages: [CatalogMessage] = []
    var lastKey = ""
    var own = Set(overlay.ownKeys)
    while true {
      let rows = try connection.run(
        ReadCatalogAfter(change: change, afterKey: lastKey, limit: Self.rowsMaximum))
      for row in rows {
        own.remove(row.key)
        if let message = try message(of: row) { messages.append(message) }
      }
      guard rows.count == Self.rowsMaximum, let last = rows.last else { break }
      lastKey = last.key
    }
    for key in own.sorted() {
      if let record = try overlay.record(key, over: nil) { messages.append(.record(record, version: 1)) }
    }
    return CatalogReplay(messages, change: change, clickRates: rules.clickRates, now: now)
  }

  private mutating func advance(
    _ replay: inout CatalogReplay, to change: Int64, _ connection: PostgresConnection
  ) throws {
    let rows = try connection.run(
      ReadCatalogChanges(after: replay.change, upTo: change, limit: Self.rowsMaximum))
    let isLast = rows.count < Self.rowsMaximum
    replay.take(
      try rows.compactMap { try message(of: $0) }, upTo: isLast ? change : rows.last?.change ?? change)
  }

  /// What a version says, with what is laid over it; nil where nothing was there.
  private mutating func message(of row: HistoryRow) throws(CatalogProblems) -> CatalogMessage? {
    if row.body != nil, overlay.editedKeys.contains(row.key) { editedKeys.insert(row.key) }
    let record = try overlay.record(row.key, over: row.body)
    // What comes later under the key has a higher version.
    if let record { return .record(record, version: row.version ?? 1) }
    guard let version = row.version, row.body == nil else { return nil }
    return .deleted(key: row.key, version: version)
  }
}
