import AdCore
import Pipeline
import Synchronization

/// The world's true time. Nobody in it sees it: everybody has a clock that is a little off.
final class VirtualTime: Sendable {
  /// 2026-02-03 12:00 UTC.
  static let start: Int64 = 1_770_120_000_000
  private let value = Mutex<Int64>(start)

  var milliseconds: Int64 { value.withLock { $0 } }

  func advance(byMilliseconds milliseconds: Int64) { value.withLock { $0 += milliseconds } }
}

/// A clock that is off by a constant.
struct SkewedClock: Clock {
  let time: VirtualTime
  let skewMilliseconds: Int64

  func now() -> Timestamp { Timestamp(milliseconds: time.milliseconds + skewMilliseconds) }
}
