/// How far the publishing of one output has come: `confirmed ≤ delivered ≤ sent < next`.
///
/// *sent* are messages handed to the writer, *delivered* those with a good report, *confirmed* what the database knows of
/// that. All messages go out in the order of their sequences. What was not delivered when the writer failed, and what
/// a consumer misses, is sent again from the rows of the results.
package struct PublicationCursor: Hashable, Sendable {
  /// The sequence that the next message gets.
  package private(set) var next: Int64
  package private(set) var sent: Int64
  package private(set) var delivered: Int64
  package private(set) var confirmed: Int64

  package init(_ position: OutputPosition) {
    next = position.nextSequence
    confirmed = position.confirmedSequence
    delivered = position.confirmedSequence
    sent = position.confirmedSequence
  }

  /// Committed messages wait in the database: the ones just committed must not overtake them.
  package var isBehind: Bool { sent < next - 1 }

  /// A batch was committed up to, and not including, `next`.
  package mutating func committed(next: Int64) { self.next = max(self.next, next) }

  /// Whether the message may be sent now: it is the next one.
  package func isDue(_ sequence: Int64) -> Bool { sequence == sent + 1 }

  package mutating func sending(_ sequence: Int64) { sent = sequence }

  /// A report that may stem from an earlier sending of the same message is as good.
  package mutating func delivered(_ sequence: Int64) { delivered = min(max(delivered, sequence), sent) }

  /// The database knows now that `sequence` was delivered.
  package mutating func checkpointed(confirmed sequence: Int64) { confirmed = sequence }

  /// Whether the database does not know yet what was delivered.
  package var isCheckpointDue: Bool { delivered != confirmed }

  /// The writer failed and was made again: what it had not delivered is sent again.
  package mutating func writerRebuilt() { sent = delivered }

  /// A consumer misses `sequence`: everything from it on is sent again.
  package mutating func rewind(to sequence: Int64) {
    guard sequence >= 1, sequence < next else { return }
    sent = min(sent, sequence - 1)
    delivered = min(delivered, sequence - 1)
  }
}
