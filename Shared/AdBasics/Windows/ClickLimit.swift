/// At most `clicks` of one client earn in any window of `windowMilliseconds`, by event time.
public struct ClickLimit: Hashable, Sendable {
  public var clicks: Int
  public var windowMilliseconds: Int64

  public init(clicks: Int, windowMilliseconds: Int64) {
    self.clicks = clicks
    self.windowMilliseconds = windowMilliseconds
  }

  /// Whether one more click at `time` keeps the limit: no window of this length, wherever it begins, may hold more than
  /// `clicks`. Clicks come in the order of offsets, so some that count already may be later than this one.
  ///
  /// - Parameter counted: The times of the client's clicks that count, ascending.
  public func admits(_ time: Timestamp, counted: [Timestamp]) -> Bool {
    guard clicks > 0 else { return false }
    let position = ClickLimit.position(of: time, in: counted)
    // With the new click in its place, any run of `clicks + 1` that holds it must be at least a window long.
    for first in max(0, position - clicks)...position {
      let last = first + clicks
      guard last <= counted.count else { break }
      let start = first < position ? counted[first] : time
      let end = last > position ? counted[last - 1] : time
      if end.milliseconds(since: start) < windowMilliseconds { return false }
    }
    return true
  }

  /// Where `time` belongs among `counted` (ascending), behind its equals.
  static func position(of time: Timestamp, in counted: [Timestamp]) -> Int {
    var low = 0
    var high = counted.count
    while low < high {
      let middle = (low + high) / 2
      if counted[middle] <= time { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension Windows {
  /// The first of ``clickLimits`` that one more click of the client at `time` would break; nil where it may count.
  ///
  /// - Parameter counted: The times of the client's clicks that count, ascending.
  public func clickLimitReached(at time: Timestamp, counted: [Timestamp]) -> ClickLimit? {
    clickLimits.first { !$0.admits(time, counted: counted) }
  }

  /// How far from a click, before and after it, the client's other clicks matter.
  public var clickHistoryMilliseconds: Int64 { clickLimits.map(\.windowMilliseconds).max() ?? 0 }
}
