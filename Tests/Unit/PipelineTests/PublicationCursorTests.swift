import AdCore
import TestValues
import Testing

@testable import Pipeline

@Suite("How far the publishing of an output has come")
struct PublicationCursorTests {
  private func cursor(next: Int64 = 1, confirmed: Int64 = 0) -> PublicationCursor {
    PublicationCursor(OutputPosition(nextSequence: next, confirmedSequence: confirmed))
  }

  @Test("After a takeover everything from the last known delivery on is due again, in order")
  func takeover() {
    var cursor = cursor(next: 8, confirmed: 4)
    #expect(cursor.isBehind)
    #expect([4, 5, 6].map(cursor.isDue) == [false, true, false])
    for sequence in 5...7 as ClosedRange<Int64> {
      #expect(cursor.isDue(sequence))
      cursor.sending(sequence)
    }
    #expect(!cursor.isBehind)
    #expect(!cursor.isCheckpointDue)
  }

  @Test("A delivery moves what the database will be told, never beyond what was sent and never back")
  func deliveries() {
    var cursor = cursor()
    cursor.committed(next: 4)
    for sequence in 1...3 as ClosedRange<Int64> { cursor.sending(sequence) }
    cursor.delivered(2)
    cursor.delivered(1)
    #expect(cursor.delivered == 2)
    #expect(cursor.isCheckpointDue)
    cursor.checkpointed(confirmed: 2)
    #expect(!cursor.isCheckpointDue)
    cursor.delivered(9)
    #expect(cursor.delivered == 3)
  }

  @Test("A rebuilt writer sends again what was not delivered")
  func rebuilt() {
    var cursor = cursor()
    cursor.committed(next: 4)
    for sequence in 1...3 as ClosedRange<Int64> { cursor.sending(sequence) }
    cursor.delivered(1)
    cursor.writerRebuilt()
    #expect(cursor.isBehind)
    #expect(cursor.isDue(2))
    cursor.delivered(3)
    #expect(cursor.delivered == 1)
  }

  @Test(
    "What a consumer misses goes out again, if it ever was given out",
    arguments: [(1, 1), (3, 3), (5, 5), (0, 6), (-1, 6), (6, 6), (.max, 6)] as [(Int64, Int64)])
  func gapRequests(sequence: Int64, due: Int64) {
    var cursor = cursor(next: 6, confirmed: 5)
    cursor.rewind(to: sequence)
    #expect(cursor.isDue(due))
    #expect(cursor.isBehind == (due < 6))
    #expect(cursor.isCheckpointDue == (due < 6))
  }

  @Test("A commit never moves the next sequence back")
  func committed() {
    var cursor = cursor(next: 6, confirmed: 5)
    cursor.committed(next: 3)
    #expect(cursor.next == 6)
    cursor.committed(next: 9)
    #expect(cursor.next == 9)
    #expect(cursor.isBehind)
  }

  @Test("confirmed <= delivered <= sent < next, whatever happens short of a consumer's miss")
  func invariant() {
    var random = SeededChance(seed: 5)
    var cursor = cursor()
    for _ in 0..<5_000 {
      switch Int.random(in: 0..<5, using: &random) {
      case 0: cursor.committed(next: cursor.next + Int64.random(in: 0...3, using: &random))
      case 1: if cursor.isDue(cursor.sent + 1), cursor.isBehind { cursor.sending(cursor.sent + 1) }
      case 2: cursor.delivered(Int64.random(in: 0...cursor.next + 2, using: &random))
      case 3: cursor.checkpointed(confirmed: cursor.delivered)
      default: cursor.writerRebuilt()
      }
      #expect(cursor.confirmed <= cursor.delivered)
      #expect(cursor.delivered <= cursor.sent)
      #expect(cursor.sent < cursor.next)
    }
  }
}
