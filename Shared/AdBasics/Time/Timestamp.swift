/// A moment: milliseconds since 1970-01-01 00:00:00 UTC. Time is always a parameter here; nothing in this module reads
/// a clock.
public struct Timestamp: Hashable, Comparable, Sendable {
  /// Milliseconds since the start of 1970, UTC.
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public static func < (left: Timestamp, right: Timestamp) -> Bool { left.milliseconds < right.milliseconds }

  /// The moment `milliseconds` later; it stays at the last representable moment instead of overflowing.
  public func advanced(byMilliseconds milliseconds: Int64) -> Timestamp {
    let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
    return Timestamp(milliseconds: overflow ? (milliseconds < 0 ? .min : .max) : sum)
  }

  /// How many milliseconds lie between `earlier` and this moment; negative when `earlier` is the later one.
  public func milliseconds(since earlier: Timestamp) -> Int64 {
    let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
    return overflow ? (milliseconds < earlier.milliseconds ? .min : .max) : difference
  }
}
