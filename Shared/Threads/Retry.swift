/// How long to wait before trying again: a random time between 0 and a bound that doubles (full jitter), so that many
/// clients of something that was down do not come back together.
package struct Retry: Sendable {
  package let baseMilliseconds: Int64
  package let boundMaximumMilliseconds: Int64
  /// A moment of the monotonic clock after which there is no further try.
  package let deadlineMilliseconds: Int64?
  /// Tries that have failed so far.
  package private(set) var failures = 0

  package init(
    baseMilliseconds: Int64 = 50, boundMaximumMilliseconds: Int64 = 5_000, deadlineMilliseconds: Int64? = nil
  ) {
    self.baseMilliseconds = max(1, baseMilliseconds)
    self.boundMaximumMilliseconds = max(1, boundMaximumMilliseconds)
    self.deadlineMilliseconds = deadlineMilliseconds
  }

  /// Call after a failure.
  ///
  /// - Returns: how many milliseconds to wait; nil when the deadline has passed, or would pass while waiting.
  package mutating func delayMilliseconds(
    now: Int64, using random: inout some RandomNumberGenerator
  ) -> Int64? {
    let doublings = min(failures, 40)
    failures += 1
    let (product, overflow) = baseMilliseconds.multipliedReportingOverflow(by: 1 << Int64(doublings))
    let bound = overflow ? boundMaximumMilliseconds : min(product, boundMaximumMilliseconds)
    let delay = Int64.random(in: 0...bound, using: &random)
    guard let deadlineMilliseconds else { return delay }
    return now < deadlineMilliseconds && delay <= deadlineMilliseconds - now ? delay : nil
  }

  /// Call after a failure, on a thread of one's own and without a deadline: blocks until it is time for the next try, or
  /// a stop is requested.
  package mutating func wait(unless stop: StopRequest) {
    var random = SystemRandomNumberGenerator()
    stop.wait(milliseconds: delayMilliseconds(now: 0, using: &random) ?? 0)
  }

  /// Call after a success: the next failure starts from the beginning.
  package mutating func reset() { failures = 0 }
}
