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

/// A clock that is off, and is set now and then: forwards or back.
final class SkewedClock: TimeSource {
  private let time: VirtualTime
  private let skew: Mutex<Int64>

  init(time: VirtualTime, skewMilliseconds: Int64) {
    self.time = time
    skew = Mutex(skewMilliseconds)
  }

  /// Sets it, so that it is off by so much from now on.
  ///
  /// - Returns: by how much it went forwards.
  func step(toSkew milliseconds: Int64) -> Int64 {
    skew.withLock { skew in
      defer { skew = milliseconds }
      return milliseconds - skew
    }
  }

  var now: Timestamp { Timestamp(milliseconds: time.milliseconds + skew.withLock { $0 }) }
  var monotonicMilliseconds: Int64 { time.milliseconds }
}
