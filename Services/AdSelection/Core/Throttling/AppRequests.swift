package import AdCore

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

  private var counts: [Key: Int64]
  private var latest: Int64

  package init(_ counts: [Key: Int64] = [:]) {
    self.counts = counts
    latest = counts.keys.map(\.hour).max() ?? 0
  }

  /// Counts a request.
  ///
  /// - Returns: whether there were no more than `maximum`.
  mutating func count(_ app: AppID, at moment: Timestamp, maximum: Int64) -> Bool {
    let key = Key(app: app, at: moment)
    if key.hour > latest {
      latest = key.hour
      counts = counts.filter { $0.key.hour >= key.hour - 1 }
    }
    return AppRequests.countOne(&counts[key, default: 0]) <= maximum
  }

  /// Where it lies: an app is looked up once.
  private static func countOne(_ count: inout Int64) -> Int64 {
    count += 1
    return count
  }
}
