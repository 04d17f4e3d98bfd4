/// Tells the time. Decisions take times as parameters; only wiring holds a source of them.
package protocol TimeSource: Sendable {
  /// The time of day, as people set it: it may go back.
  var now: Timestamp { get }
  /// Milliseconds of a clock that never goes back and knows no date.
  var monotonicMilliseconds: Int64 { get }
}
