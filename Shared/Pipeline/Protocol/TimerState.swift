internal import AdCore

/// How much a timer may do at once: everything, until the database refuses some of it.
struct TimerState: Hashable, Sendable {
  private(set) var quota = TimerQuota()
  private(set) var restsUntil = Timestamp(milliseconds: .min)

  mutating func succeeded() {
    if quota.maximum < PipelineLimits.timerItemsAfterRefusal { quota.maximum *= 2 }
  }

  /// Does less at once. True when there is no less: the one thing that was tried is passed over from now on.
  mutating func refused(now: Timestamp) -> Bool {
    guard quota.maximum <= 1 else {
      quota.maximum = min(quota.maximum, 2 * PipelineLimits.timerItemsAfterRefusal) / 2
      return false
    }
    quota.skipped += 1
    restsUntil = now.advanced(byMilliseconds: PipelineLimits.timerRestMilliseconds)
    return true
  }
}

/// What a person should know of a partition, which goes on all the same.
package enum PipelineAlarm: Hashable, Sendable {
  /// Records that the log had removed before they were read.
  case lostOffsets(topic: String, offsets: Range<Int64>, detail: String)
  /// Records of an output that were never published, and whose rows are gone.
  case lostSequences(topic: String, sequences: Range<Int64>)
  /// The database refuses something that a timer made due: it stays undone.
  case timerRefused(detail: String)
}
