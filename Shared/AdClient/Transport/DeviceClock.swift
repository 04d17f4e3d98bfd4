package import AdBasics
internal import Foundation

/// The device's clocks, read at the edge only: everything below takes time as a parameter.
package enum DeviceClock {
  private static let start = ContinuousClock.now

  /// The monotonic clock, which goes on while the device sleeps: an ad ages all the same.
  package static var monotonic: MonotonicTime {
    let passed = start.duration(to: .now).components
    return MonotonicTime(milliseconds: passed.seconds * 1_000 + passed.attoseconds / 1_000_000_000_000_000)
  }

  /// The wall clock, for ids and `ce_time`.
  package static var wall: Timestamp {
    Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1_000))
  }

  /// A new id of this moment.
  package static func newID() -> UUIDv7 {
    var random = SystemRandomNumberGenerator()
    return UUIDv7(timestamp: wall, randomHigh: random.next(), randomLow: random.next())
  }
}
