package import AdCore

/// How much of rejected records a partition keeps in a minute, so that a flood of garbage adds bounded bytes to the disk.
/// Beyond the limit of bytes (of key, value and headers) records keep only length and hash; beyond the limit of records
/// they are counted, and their reason is the byte of their outcome.
package struct RejectionLimit: Hashable, Sendable {
  package static let bytesPerMinuteMaximum = 4 << 20
  /// The most that is kept of one record.
  package static let bytesPerRecordMaximum = 64 << 10
  /// The most records that get a row and a message on `ads.rejected`.
  package static let recordsPerMinuteMaximum = 3_000

  private var minute: Int64 = .min
  private var bytes = 0
  private var records = 0

  package init() {}

  /// How many bytes of a record with `count` bytes may be kept; nil where it is only to be counted.
  package mutating func allow(_ count: Int, now: Timestamp) -> Int? {
    let current = now.milliseconds / 60_000
    if current != minute {
      minute = current
      bytes = 0
      records = 0
    }
    guard records < Self.recordsPerMinuteMaximum else { return nil }
    records += 1
    let kept = min(count, Self.bytesPerRecordMaximum)
    guard bytes + kept <= Self.bytesPerMinuteMaximum else { return 0 }
    bytes += kept
    return kept
  }
}
