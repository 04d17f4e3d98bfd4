import AdCore
import AdEvents
import Pipeline
import Testing

@Suite struct HorizonTests {
  /// The next owner takes ids from 5 s after its time on as known to itself: as far as clocks may lie apart, and beyond.
  @Test(
    "M4: an id is a duplicate however its age lies to the next owner's clock",
    arguments: [-6_000, -5_001, -5_000, -4_999, 0])
  func horizon(milliseconds: Int64) async throws {
    let partition = try await ImpressionPartition()
    let kinds: [ImpressionEvent.Kind] = [.viewed, .rendered]
    for kind in kinds { try partition.run([partition.event(kind, 1)]) }
    try partition.takeOver(at: partition.start.advanced(byMilliseconds: milliseconds))
    for kind in kinds {
      let summary = try partition.run([partition.event(kind, 1), partition.event(kind, 2)])
      #expect(summary.outcomes[Int(Outcome.duplicate.rawValue)] == 1)
      #expect(summary.outcomes[Int(Outcome.accepted.rawValue)] == 1)
    }
  }
}
