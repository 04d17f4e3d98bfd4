internal import AdCore

/// What was used in the last 60 seconds, in buckets of a second.
struct RecentUse: Hashable, Sendable {
  private static let seconds: Int64 = 60

  private struct Bucket: Hashable, Sendable {
    let second: Int64
    var amount: Int64
  }

  private var buckets: [Bucket] = []

  /// Adds `amount` nanos used at `now`.
  mutating func add(_ amount: Int64, at now: Timestamp) {
    let second = now.milliseconds / 1_000
    if let index = buckets.lastIndex(where: { $0.second == second }) {
      buckets[index].amount = RecentUse.sum(buckets[index].amount, amount)
      return
    }
    buckets.removeAll { !RecentUse.isRecent($0.second, at: second) }
    buckets.append(Bucket(second: second, amount: amount))
  }

  /// The nanos used in the 60 seconds up to `now`; it stays at the largest amount instead of overflowing.
  func total(at now: Timestamp) -> Int64 {
    let second = now.milliseconds / 1_000
    return buckets.reduce(0) { RecentUse.isRecent($1.second, at: second) ? RecentUse.sum($0, $1.amount) : $0 }
  }

  private static func isRecent(_ second: Int64, at now: Int64) -> Bool {
    second > now - RecentUse.seconds && second <= now
  }

  private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }
}
