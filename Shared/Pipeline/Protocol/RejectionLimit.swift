import AdCore

/// How many original bytes of rejected records (key, value and headers) a partition keeps in a minute; beyond it records
/// are counted and keep only length and hash, so that a flood of garbage adds bounded bytes to the disk.
package struct RejectionLimit: Hashable, Sendable {
  package static let bytesPerMinuteMaximum = 4 << 20
  /// The most that is kept of one record.
  package static let bytesPerRecordMaximum = 64 << 10

  private var minute: Int64 = .min
  private var bytes = 0

  package init() {}

  /// How many bytes of a record with `count` bytes may be kept.
  package mutating func allow(_ count: Int, now: Timestamp) -> Int {
    let current = now.milliseconds / 60_000
    if current != minute {
      minute = current
      bytes = 0
    }
    let kept = min(count, Self.bytesPerRecordMaximum)
    guard bytes + kept <= Self.bytesPerMinuteMaximum else { return 0 }
    bytes += kept
    return kept
  }
}
