package import AdCore

/// A flat table of recent ids, *complete* for ids made at or after its horizon (M4): an id that young and not in it was
/// never taken by this partition. An older id that is not in it may have been; the database's primary key is the judge.
///
/// Open addressing over two words an id, 32 bytes for each remembered id at the usual load. When it is full the
/// horizon moves up and the oldest ids are forgotten.
package struct RecentIDs: Sendable {
  /// Ids remembered at most, by default: 1 Mi, in 32 MiB.
  package static let idsMaximumDefault = 1 << 20

  /// Ids made at or after this moment are all in the table.
  package private(set) var horizon: Timestamp
  package private(set) var count = 0
  private let idsMaximum: Int
  /// Pairs (high, low); a free slot is (0, 0), which no UUID of version 7 is.
  private var words: [UInt64]
  private var mask: Int

  /// - Parameter horizon: at assignment, now + 5 s: what was decided before is known to the database alone.
  package init(horizon: Timestamp, idsMaximum: Int = RecentIDs.idsMaximumDefault) {
    self.horizon = horizon
    self.idsMaximum = max(idsMaximum, 64)
    words = Array(repeating: 0, count: 2 * 128)
    mask = 127
  }

  /// Whether the id is certainly new when it is not in the table.
  package func isComplete(for id: UUIDv7) -> Bool { id.timestamp >= horizon }

  package func contains(_ id: UUIDv7) -> Bool {
    let slot = find(id)
    return words[2 * slot] != 0
  }

  /// False when it was there already.
  package mutating func insert(_ id: UUIDv7) -> Bool {
    var slot = find(id)
    guard words[2 * slot] == 0 else { return false }
    if 2 * (count + 1) > mask + 1 {
      grow()
      slot = find(id)
    }
    words[2 * slot] = id.high
    words[2 * slot + 1] = id.low
    count += 1
    return true
  }

  /// Takes an id out again, because its batch was not committed.
  package mutating func remove(_ id: UUIDv7) {
    var free = find(id)
    guard words[2 * free] != 0 else { return }
    count -= 1
    var slot = free
    // Close the hole: move up what would no longer be found behind it.
    while true {
      slot = (slot + 1) & mask
      guard words[2 * slot] != 0 else { break }
      let home = start(words[2 * slot], words[2 * slot + 1])
      if (slot - home) & mask >= (slot - free) & mask {
        words[2 * free] = words[2 * slot]
        words[2 * free + 1] = words[2 * slot + 1]
        free = slot
      }
    }
    words[2 * free] = 0
    words[2 * free + 1] = 0
  }

  private func start(_ high: UInt64, _ low: UInt64) -> Int {
    let product = (high ^ low).multipliedFullWidth(by: 0x9E37_79B9_7F4A_7C15)
    return Int(truncatingIfNeeded: product.high ^ product.low) & mask
  }

  private func find(_ id: UUIDv7) -> Int {
    var slot = start(id.high, id.low)
    while words[2 * slot] != 0, words[2 * slot] != id.high || words[2 * slot + 1] != id.low { slot = (slot + 1) & mask }
    return slot
  }

  private mutating func grow() {
    if count < idsMaximum {
      rebuild(slots: 2 * (mask + 1), from: horizon, keepingAll: true)
      return
    }
    // Full: forget the older half of the ids. By number and not by time, because a client may choose the times of some
    // and so could have all be looked through for each id.
    var times: [UInt64] = []
    times.reserveCapacity(count)
    for slot in 0...mask where words[2 * slot] != 0 { times.append(words[2 * slot] >> 16) }
    times.sort()
    let raised = Timestamp(milliseconds: Int64(times[times.count / 2]) + 1)
    rebuild(slots: mask + 1, from: raised, keepingAll: false)
    horizon = max(horizon, raised)
  }

  private mutating func rebuild(slots: Int, from earliest: Timestamp, keepingAll: Bool) {
    let old = words
    words = Array(repeating: 0, count: 2 * slots)
    mask = slots - 1
    count = 0
    for index in stride(from: 0, to: old.count, by: 2) where old[index] != 0 {
      guard let id = UUIDv7(high: old[index], low: old[index + 1]), keepingAll || id.timestamp >= earliest else {
        continue
      }
      let slot = find(id)
      words[2 * slot] = id.high
      words[2 * slot + 1] = id.low
      count += 1
    }
  }
}
