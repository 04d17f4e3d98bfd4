internal import Records

/// What a partition has in memory of its outbox: committed entries that were not delivered, the oldest first. Those for
/// which there is no room wait in the database.
struct OutboxState {
  private struct Held {
    let entry: OutboxEntry
    /// What was taken of the bound for it.
    let bytes: Int
  }

  private var held: [Int64: Held] = [:]
  /// Delivered, and not yet taken out of the database.
  var delivered: [Int64] = []
  /// The database may hold entries behind ``lastHeld``.
  private(set) var hasMore = true
  private(set) var lastHeld: Int64 = 0
  /// There was no room; there may be some once one of ours is delivered.
  private var isWaiting = false
  private let quota: SharedBound.Quota

  /// - Parameter quota: of a bound in bytes.
  init(quota: SharedBound.Quota) { self.quota = quota }

  /// How many are not known to be delivered.
  var count: Int { held.count }

  /// Those, oldest first.
  var pending: [OutboxEntry] { held.values.map(\.entry).sorted { $0.id < $1.id } }

  /// How many entries may be read now; 0 while there are none, or it is better to wait for deliveries.
  var readableCount: Int {
    guard hasMore, !isWaiting, held.isEmpty || 2 * quota.held <= quota.part else { return 0 }
    return max(1, (quota.part - quota.held) / OutboxEntry.bytesMaximum)
  }

  /// Holds a committed entry; false where there is no room, for it and for all behind it. One alone always has room.
  mutating func hold(_ entry: OutboxEntry) -> Bool {
    let isTaken = quota.take(entry.bytes)
    guard isTaken || held.isEmpty else {
      hasMore = true
      isWaiting = true
      return false
    }
    held[entry.id] = Held(entry: entry, bytes: isTaken ? entry.bytes : 0)
    lastHeld = entry.id
    return true
  }

  /// The database has no entries behind ``lastHeld``.
  mutating func readAll() { hasMore = false }

  mutating func deliver(_ id: Int64) {
    guard let entry = held.removeValue(forKey: id) else { return }
    quota.give(entry.bytes)
    isWaiting = false
    delivered.append(id)
  }
}

extension OutboxEntry {
  /// The largest: what is forwarded is not larger, nor is a rejection.
  static let bytesMaximum = 2 * PipelineLimits.forwardedBytesMaximum
  private static let ownBytes = 256

  /// What it takes in memory, about.
  var bytes: Int {
    Self.ownBytes + (message.key?.count ?? 0) + (message.value?.count ?? 0)
      + message.headers.reduce(0) { $0 + 2 * 32 + $1.name.count + ($1.value?.count ?? 0) }
  }
}
