package import AdEvents

extension AcceptedRun {
  /// The sequences of its events.
  package var sequences: ClosedRange<Int64> { first...first + Int64(events.count - 1) }
}
