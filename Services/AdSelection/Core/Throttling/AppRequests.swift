package import AdCore
package import Pipeline

/// How many live requests of each app a partition had in an hour, by their moment (B8): beyond a cap an app gets no more
/// ads in that hour. Every one that counts for the app (M1) counts here, and the counts per minute tell them again after a
/// restart.
package struct AppRequests: Hashable, Sendable {
  package struct Key: Hashable, Sendable {
    package var app: AppID
    /// In hours since 1970.
    package var hour: Int64

    package init(app: AppID, at moment: Timestamp) {
      self.app = app
      hour = moment.milliseconds / 3_600_000
    }
  }

  private var counts: RecentCounts<Int64>

  /// - Parameter bound: of apps' hours, for all partitions of a process. Beyond it those are forgotten whose requests lie
  ///   furthest back, and count from one again: never those that ask most.
  package init(_ stored: [Key: Int64] = [:], sharing bound: SharedBound = SelectionMemory().appHours) {
    counts = RecentCounts(sharing: bound)
    // The latest hour's first, should there not be room for all.
    for (key, count) in stored.sorted(by: { ($0.key.hour, $0.value) > ($1.key.hour, $1.value) }) {
      guard counts.restore(Self.number(of: key), count: count) else { return }
    }
  }

  /// Counts a request.
  ///
  /// - Returns: whether there were no more than `maximum`.
  mutating func count(_ app: AppID, at moment: Timestamp, maximum: Int64) -> Bool {
    let number = Self.number(of: Key(app: app, at: moment))
    let count = counts[number] + 1
    counts.note(number, count: count)
    return count <= maximum
  }

  /// Forgets what is more than its part by now, because others have come to share with it.
  mutating func keepToQuota() { counts.keepToQuota() }

  private static func number(of key: Key) -> UInt64 {
    var hasher = Hasher()
    hasher.combine(key)
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }
}
