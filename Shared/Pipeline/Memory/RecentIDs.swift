package import AdCore

/// A flat table of recent ids, *complete* for ids made at or after its horizon (M4): an id that young and not in it was
/// never taken by this partition. An older id that is not in it may have been: the database's primary key is the judge, or
/// who has none asks its tables.
///
/// Open addressing over two words an id, 32 bytes for each remembered id at the usual load. One table may remember ids
/// for several purposes, told apart by a label. When it has its quota of what all tables of the process may take, the
/// horizon moves up and the oldest ids are forgotten.
package struct RecentIDs: Sendable {
  /// What the tables of all partitions of a process take together, if nothing else is said.
  package static let bytesMaximum = 16 << 20
  /// What every table takes, however many there are.
  package static let bytesMinimum = slotsMinimum * slotBytes
  /// Labels are below this: they stand in the bits of version and variant, which are the same in all ids.
  package static let labels: UInt8 = 64
  private static let slotsMinimum = 128
  private static let slotBytes = 16
  /// Some ids are made by strangers: who knew where each is looked for could have thousands looked for in one place, one after
  /// the other.
  private static let secret = {
    var (high, low) = (Hasher(), Hasher())
    high.combine(1)
    low.combine(2)
    return (high: UInt64(bitPattern: Int64(high.finalize())), low: UInt64(bitPattern: Int64(low.finalize())))
  }()

  /// Ids made at or after this moment are all in the table.
  package private(set) var horizon: Timestamp
  package private(set) var count = 0
  private let quota: SharedBound.Quota
  /// Pairs (high, low); a free slot is (0, 0), which no id made after 1970 is.
  private var words: [UInt64]
  private var mask: Int
  private let secret = Self.secret

  /// - Parameters:
  ///   - horizon: at assignment, beyond now and the watermark by 5 s: what was decided before is known to the database alone.
  ///   - quota: of a bound in bytes, for this table alone.
  package init(horizon: Timestamp, quota: SharedBound.Quota) {
    self.horizon = horizon
    self.quota = quota
    words = Array(repeating: 0, count: 2 * Self.slotsMinimum)
    mask = Self.slotsMinimum - 1
  }

  /// What its ids take, in bytes.
  package var byteCount: Int { Self.slotBytes * (mask + 1) }

  /// Whether the id is certainly new when it is not in the table.
  package func isComplete(for id: UUIDv7) -> Bool { id.timestamp >= horizon }

  package func contains(_ id: UUIDv7, label: UInt8 = 0) -> Bool {
    let key = Key(id, label)
    return words[2 * find(key)] != 0
  }

  /// False when it was there already.
  package mutating func insert(_ id: UUIDv7, label: UInt8 = 0) -> Bool {
    let key = Key(id, label)
    var slot = find(key)
    guard words[2 * slot] == 0 else { return false }
    if 2 * (count + 1) > mask + 1 {
      grow()
      slot = find(key)
    }
    put(key, at: slot)
    return true
  }

  /// Takes an id out again, because its batch was not committed.
  package mutating func remove(_ id: UUIDv7, label: UInt8 = 0) {
    var free = find(Key(id, label))
    guard words[2 * free] != 0 else { return }
    count -= 1
    var slot = free
    // Close the hole: move up what would no longer be found behind it.
    while true {
      slot = (slot + 1) & mask
      guard words[2 * slot] != 0 else { break }
      let home = start(Key(high: words[2 * slot], low: words[2 * slot + 1]))
      if (slot - home) & mask >= (slot - free) & mask {
        words[2 * free] = words[2 * slot]
        words[2 * free + 1] = words[2 * slot + 1]
        free = slot
      }
    }
    words[2 * free] = 0
    words[2 * free + 1] = 0
  }

  /// Forgets what is more than its quota by now, because others have come to share with it.
  package mutating func keepToQuota() {
    while quota.held > quota.part, mask + 1 > Self.slotsMinimum {
      let before = byteCount
      forget(slots: (mask + 1) / 2)
      quota.give(before - (mask + 1 > Self.slotsMinimum ? byteCount : 0))
    }
  }

  struct Key {
    let high: UInt64
    let low: UInt64

    init(high: UInt64, low: UInt64) {
      self.high = high
      self.low = low
    }

    init(_ id: UUIDv7, _ label: UInt8) {
      high = id.high ^ UInt64(label & 0xF) << 12
      low = id.low ^ UInt64(label >> 4) << 62
    }
  }

  /// Where an id is looked for first, by this process's secret.
  func start(_ key: Key) -> Int {
    let product = (key.high ^ secret.high).multipliedFullWidth(by: key.low ^ secret.low)
    return Int(truncatingIfNeeded: product.high ^ product.low) & mask
  }

  private func find(_ key: Key) -> Int {
    var slot = start(key)
    while words[2 * slot] != 0, words[2 * slot] != key.high || words[2 * slot + 1] != key.low {
      slot = (slot + 1) & mask
    }
    return slot
  }

  private mutating func put(_ key: Key, at slot: Int) {
    words[2 * slot] = key.high
    words[2 * slot + 1] = key.low
    count += 1
  }

  private mutating func grow() {
    let (slots, before) = (mask + 1, byteCount)
    // The old table lives on until the new one is filled, so both count meanwhile.
    guard quota.take(2 * before) else {
      forget(slots: slots)
      return
    }
    rebuild(slots: 2 * slots, keeping: words)
    if slots > Self.slotsMinimum { quota.give(before) }
  }

  /// Forgets the older half of the ids. By number and not by time, because a client may choose the times of some and so
  /// could have all be looked through for each id.
  private mutating func forget(slots: Int) {
    var times: [UInt64] = []
    times.reserveCapacity(count)
    for slot in 0...mask where words[2 * slot] != 0 { times.append(words[2 * slot] >> 16) }
    times.sort()
    guard !times.isEmpty else { return rebuild(slots: slots, keeping: []) }
    let raised = times[times.count / 2] + 1
    times = []
    var kept: [UInt64] = []
    kept.reserveCapacity(count)
    for slot in 0...mask where words[2 * slot] >> 16 >= raised {
      kept.append(words[2 * slot])
      kept.append(words[2 * slot + 1])
    }
    words = []
    rebuild(slots: slots, keeping: kept)
    horizon = max(horizon, Timestamp(milliseconds: Int64(raised)))
  }

  private mutating func rebuild(slots: Int, keeping old: [UInt64]) {
    words = Array(repeating: 0, count: 2 * slots)
    mask = slots - 1
    count = 0
    for index in stride(from: 0, to: old.count, by: 2) where old[index] != 0 {
      let key = Key(high: old[index], low: old[index + 1])
      put(key, at: find(key))
    }
  }
}
