internal import AdCore

/// What was used in the last 60 seconds, in buckets of a second.
struct RecentUse: Hashable, Sendable {
  private static let seconds: Int64 = 60

  private struct Bucket: Hashable, Sendable {
    var second: Int64
    var amount: Int64
  }

  /// The one that was used last, in its place: nearly all uses are of the same second as the one before.
  private var latest = Bucket(second: 0, amount: 0)
  private var others: [Bucket] = []

  /// Adds `amount` nanos used at `now`.
  mutating func add(_ amount: Int64, at now: Timestamp) {
    let second = now.milliseconds / 1_000
    if latest.second != second { turn(to: second) }
    latest.amount = RecentUse.sum(latest.amount, amount)
  }

  /// Also back, where a clock is set back.
  private mutating func turn(to second: Int64) {
    if latest.amount > 0 { others.append(latest) }
    latest = others.first { $0.second == second } ?? Bucket(second: second, amount: 0)
    others.removeAll { $0.second == second || !RecentUse.isRecent($0.second, at: second) }
  }

  /// The nanos used in the 60 seconds up to `now`; it stays at the largest amount instead of overflowing.
  func total(at now: Timestamp) -> Int64 {
    let second = now.milliseconds / 1_000
    let used = RecentUse.isRecent(latest.second, at: second) ? latest.amount : 0
    return others.reduce(used) { RecentUse.isRecent($1.second, at: second) ? RecentUse.sum($0, $1.amount) : $0 }
  }

  private static func isRecent(_ second: Int64, at now: Int64) -> Bool {
    second > now - RecentUse.seconds && second <= now
  }

  private static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }
}
