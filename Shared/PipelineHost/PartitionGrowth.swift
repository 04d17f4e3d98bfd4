/// From when on a network that grows uses its new partitions.
///
/// A service that names partitions to others (ad selection, in its tokens) must not be the first to use them: others ask
/// for the counts each second, and refuse a token that names a partition which they do not know.
struct PartitionGrowth: Sendable {
  /// How long all topics must have had their partitions before a service names them, in milliseconds.
  static let delayMilliseconds: Int64 = 5_000

  /// The count that is used; 0 before the first.
  private(set) var used: Int32 = 0
  /// A higher one, and since when it is seen.
  private var seen: (count: Int32, since: Int64)?

  /// Takes the count that all topics have now. The first one is used at once; it only ever grows.
  mutating func note(_ count: Int32, now: Int64, delayMilliseconds: Int64) {
    guard used > 0, delayMilliseconds > 0 else {
      used = max(used, count)
      return
    }
    guard count > used else {
      seen = nil
      return
    }
    let since = seen.flatMap { $0.count == count ? $0.since : nil } ?? now
    seen = (count, since)
    guard now - since >= delayMilliseconds else { return }
    used = count
    seen = nil
  }
}
