import Threads

/// Waiting for what nobody tells of, such as another process's rows: looks again until it is so.
package enum Waiting {
  /// So long that only what never happens takes it, on a busy machine too.
  package static let seconds = 120
  /// Between two looks: most things are so soon.
  private static let lookAgainMilliseconds = 5...50

  /// Blocks until `isTrue` says so.
  ///
  /// - Returns: false when the time was over.
  package static func until(seconds: Int = seconds, _ isTrue: () throws -> Bool) rethrows -> Bool {
    let deadline = Deadline(afterMilliseconds: seconds * 1_000)
    var pauseMilliseconds = lookAgainMilliseconds.lowerBound
    while true {
      if try isTrue() { return true }
      guard !deadline.isOver else { return false }
      pause(milliseconds: pauseMilliseconds)
      pauseMilliseconds = min(2 * pauseMilliseconds, lookAgainMilliseconds.upperBound)
    }
  }

  /// Lets others go on for a while; by a clock that nobody sets.
  package static func pause(milliseconds: Int) { StopRequest().wait(milliseconds: milliseconds) }
}
