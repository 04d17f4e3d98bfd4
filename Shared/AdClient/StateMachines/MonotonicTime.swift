/// A moment on the device's monotonic clock, in milliseconds since a start that only the process knows. The wall clock
/// of a device may be wrong or be set while an ad shows, so ages and intervals are differences of these.
public struct MonotonicTime: Hashable, Comparable, Sendable {
  /// Milliseconds since the clock's start.
  public var milliseconds: Int64

  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.milliseconds < right.milliseconds }

  /// The moment `milliseconds` later; it stays at the last representable moment instead of overflowing.
  public func advanced(byMilliseconds milliseconds: Int64) -> MonotonicTime {
    let (sum, overflow) = self.milliseconds.addingReportingOverflow(milliseconds)
    return MonotonicTime(milliseconds: overflow ? (milliseconds < 0 ? .min : .max) : sum)
  }

  /// How many milliseconds lie between `earlier` and this moment; negative when `earlier` is the later one.
  public func milliseconds(since earlier: MonotonicTime) -> Int64 {
    let (difference, overflow) = milliseconds.subtractingReportingOverflow(earlier.milliseconds)
    return overflow ? (milliseconds < earlier.milliseconds ? .min : .max) : difference
  }
}
