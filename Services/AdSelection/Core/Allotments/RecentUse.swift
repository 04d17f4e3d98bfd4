internal import AdCore

/// What was used in the last 60 seconds, in buckets of a second.
struct RecentUse: Hashable, Sendable {
  private static let seconds: Int64 = 60

  private var amounts: [Int64: Int64] = [:]

  /// Adds `amount` nanos used at `now`.
  mutating func add(_ amount: Int64, at now: Timestamp) {
    let second = now.milliseconds / 1_000
    if amounts.count >= RecentUse.seconds { amounts = amounts.filter { isRecent($0.key, at: second) } }
    let (sum, overflow) = (amounts[second] ?? 0).addingReportingOverflow(amount)
    amounts[second] = overflow ? .max : sum
  }

  /// The nanos used in the 60 seconds up to `now`; it stays at the largest amount instead of overflowing.
  func total(at now: Timestamp) -> Int64 {
    let second = now.milliseconds / 1_000
    return amounts.reduce(0) { total, entry in
      guard isRecent(entry.key, at: second) else { return total }
      let (sum, overflow) = total.addingReportingOverflow(entry.value)
      return overflow ? .max : sum
    }
  }

  private func isRecent(_ second: Int64, at now: Int64) -> Bool { second > now - RecentUse.seconds && second <= now }
}
