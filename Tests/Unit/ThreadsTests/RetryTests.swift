import Testing
import Threads

@Suite("Trying again")
struct RetryTests {
  /// Only its greatest value is of use: a constant lower one can be rejected for ever.
  private struct Constant: RandomNumberGenerator {
    let value: UInt64
    mutating func next() -> UInt64 { value }
  }

  @Test("delays grow to their bound, jitter fills the whole range, a success starts over")
  func retryGrowth() {
    var retry = Retry(baseMilliseconds: 100, boundMaximumMilliseconds: 1_000)
    var highest = Constant(value: .max)
    let delays = (0..<100).map { _ in retry.delayMilliseconds(now: 0, using: &highest) }
    #expect(delays.prefix(5) == [100, 200, 400, 800, 1_000])
    #expect(delays.last == 1_000)
    var random = SystemRandomNumberGenerator()
    let jittered = (0..<200).map { _ in retry.delayMilliseconds(now: 0, using: &random) ?? -1 }
    #expect(jittered.allSatisfy { (0...1_000).contains($0) } && Set(jittered).count > 10)
    retry.reset()
    #expect(retry.delayMilliseconds(now: 0, using: &highest) == 100)
  }

  @Test("there is no try after the deadline, nor one whose wait would pass it")
  func retryDeadline() {
    var retry = Retry(baseMilliseconds: 100, deadlineMilliseconds: 1_000)
    var highest = Constant(value: .max)
    #expect(retry.delayMilliseconds(now: 800, using: &highest) == 100)
    #expect(retry.delayMilliseconds(now: 900, using: &highest) == nil)
    #expect(retry.delayMilliseconds(now: 1_001, using: &highest) == nil)
  }

  @Test("a stop ends the wait for the next try")
  func retryStopped() {
    let stop = StopRequest()
    stop.make()
    var retry = Retry(baseMilliseconds: 3_600_000, boundMaximumMilliseconds: 3_600_000)
    let began = MonotonicClock.milliseconds
    for _ in 0..<10 { retry.wait(unless: stop) }
    #expect(MonotonicClock.milliseconds - began < 60_000)
    #expect(retry.failures == 10)
  }
}
