/// Counts of what came last, each thing told by a number. Strangers may invent things, so all partitions of a process
/// share a bound of them: what has no room makes those be forgotten that have not come for longest. Two generations, of
/// which the newer one becomes the older at half of what the partition may hold.
package struct RecentCounts<Count: FixedWidthInteger & Sendable>: Sendable {
  private var current: [UInt64: Count] = [:]
  /// Things that have not come since the last turn.
  private var previous: [UInt64: Count] = [:]
  /// Of things. One is counted in any case.
  private let quota: SharedBound.Quota

  /// - Parameter bound: of how many things are counted.
  package init(sharing bound: SharedBound) { quota = bound.quota() }

  /// How many things are counted.
  package var thingCount: Int { current.count + previous.count }

  /// The count of a thing; 0 of one that is not known, or not any more.
  package subscript(thing: UInt64) -> Count { current[thing] ?? previous[thing] ?? 0 }

  /// Counts a thing, which is the latest now.
  package mutating func note(_ thing: UInt64, count: Count) {
    if current[thing] == nil {
      previous[thing] = nil
      giveBack()
      makeRoom()
    }
    current[thing] = count
  }

  /// The same as long as there is room without forgetting anything: to read back what is stored.
  ///
  /// - Returns: whether there was.
  package mutating func restore(_ thing: UInt64, count: Count) -> Bool {
    guard quota.take(1) else { return false }
    current[thing] = count
    giveBack()
    return true
  }

  /// Forgets what is more than its part by now, because others have come to share with it.
  package mutating func keepToQuota() { while quota.held > quota.part, thingCount > 0 { turn() } }

  package mutating func forgetAll() {
    (current, previous) = ([:], [:])
    giveBack()
  }

  /// For one more. Where the others have all that there is, it stands alone.
  private mutating func makeRoom() {
    if 2 * (current.count + 1) > quota.part { turn() }
    while !quota.take(1), thingCount > 0 { turn() }
  }

  /// The older generation is forgotten.
  private mutating func turn() {
    (previous, current) = (current, [:])
    giveBack()
  }

  /// What was taken for things that are not counted any more. Nothing was, for one that stands alone.
  private func giveBack() { quota.give(max(0, quota.held - thingCount)) }
}

extension RecentCounts: Hashable {
  package static func == (left: Self, right: Self) -> Bool {
    (left.current, left.previous) == (right.current, right.previous)
  }

  package func hash(into hasher: inout Hasher) { hasher.combine(current) }
}
