package import AdCore
internal import Runtime
package import TestValues

/// A test's clock as services ask it.
package struct MovingTime: TimeSource {
  private let clock: MovingClock

  package init(_ clock: MovingClock) { self.clock = clock }

  package var now: Timestamp { clock.now() }
  package var monotonicMilliseconds: Int64 { now.milliseconds }
}
