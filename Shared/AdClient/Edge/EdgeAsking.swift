internal import Threads

/// Whether a request is asked again, and when: as long as nobody knows whether the network has it, within its deadline. Under
/// its id it is one (M1).
struct EdgeAsking {
  /// When the request's time is over.
  let deadline: MonotonicTime
  private var retry: Retry
  /// An earlier asking may have arrived: that the edge takes nothing now says nothing then.
  private var mayBeThere = false

  /// The bound of the first pause; each further one's is twice as high.
  private static let pauseMilliseconds: Int64 = 500
  private static let pauseMillisecondsMaximum: Int64 = 60_000
  private static let unavailableStatus = 503

  init(deadline: MonotonicTime) {
    self.deadline = deadline
    retry = Retry(
      baseMilliseconds: Self.pauseMilliseconds, boundMaximumMilliseconds: Self.pauseMillisecondsMaximum,
      deadlineMilliseconds: deadline.milliseconds)
  }

  /// What follows from an outcome.
  ///
  /// - Returns: How long to wait before the same is asked again, in milliseconds, at least what the answer asks for; nil
  ///   where the outcome stands.
  mutating func pause(
    after outcome: EdgeConnection.Outcome, at now: MonotonicTime, using random: inout some RandomNumberGenerator
  ) -> Int64? {
    let isUnknown: Bool
    var named: Int64 = 0
    switch outcome {
    case .unreachable(_, let mayHaveArrived): isUnknown = mayHaveArrived || mayBeThere
    case .answer(let answer):
      isUnknown = answer.mayHaveArrived || mayBeThere && answer.status == Self.unavailableStatus
      named = answer.retryAfterMilliseconds ?? 0
    }
    guard isUnknown, let own = retry.delayMilliseconds(now: now.milliseconds, using: &random) else { return nil }
    mayBeThere = true
    let pause = max(own, named)
    return pause < deadline.milliseconds(since: now) ? pause : nil
  }
}
