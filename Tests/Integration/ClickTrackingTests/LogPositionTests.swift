import AdCore
import AdEvents
import ClickTrackingCore
import Pipeline
import Postgres
import Runtime
import TestValues
import Testing

@testable import Handbill

@Suite("Positions that a person moves")
struct LogPositionTests {
  private let now = SystemClock().now

  private func impression(_ serve: UInt64) -> ClickInput {
    let terms = ServedTerms.sample(
      serve: serve, partition: ClickPartition.number, issuedAt: now.advanced(byMilliseconds: -3_600_000))
    return .impression(AcceptedImpression(terms: terms, eventTime: terms.issuedAt, arrival: terms.issuedAt))
  }

  private func stored(_ positions: LogPositions, _ topic: Topic) throws -> LogPositions.StoredInput {
    try #require(try positions.inputs().first { $0.topic == topic.name })
  }

  @Test("One input is moved under the fence, in a batch of its own; the others and what was consumed stay")
  func accept() async throws {
    let partition = try await ClickPartition(now: now)
    try partition.run([.rejected(Rejection(.malformed, "no event")), impression(1), impression(2)])
    let positions = LogPositions(service: try .named("click-tracking"), connection: partition.connection)
    let (clicks, impressions) = (try stored(positions, .clicks), try stored(positions, .acceptedImpressions))
    #expect(clicks.position.nextOffset == 1 && clicks.position.last != nil)
    #expect(impressions.position.nextOffset == 2 && impressions.position.consumedSequence == 2)
    let (epoch, batch) = (
      "SELECT epoch FROM click_tracking.partition", "SELECT batch_number FROM click_tracking.partition"
    )
    let (epochBefore, batchBefore) = (try partition.count(epoch), try partition.count(batch))

    try positions.accept(impressions, firstOffset: 7, isSequenced: true)
    let moved = try stored(positions, .acceptedImpressions)
    #expect(moved.position.nextOffset == 7 && moved.position.last == nil && moved.position.consumedSequence == 2)
    #expect(try stored(positions, .clicks).position == clicks.position)
    let epochAfter = try partition.count(epoch)
    #expect(try epochAfter > epochBefore && partition.count(batch) == batchBefore + 1)
    #expect(
      try partition.count("SELECT count(*) FROM click_tracking.batch WHERE batch_number = 2") == 1, "batches are dense")
    // Its producer is asked for what was not consumed.
    #expect(try partition.count("SELECT sequence FROM click_tracking.gap_request") == 3)
    // Whoever owned it has lost it.
    #expect(throws: PipelineError.fenced) { try partition.run([impression(3)]) }
    // What was looked at before says nothing any more.
    #expect(throws: PostgresError.self) { try positions.accept(impressions, firstOffset: 9, isSequenced: true) }
    #expect(try stored(positions, .acceptedImpressions).position == moved.position)
    #expect(try partition.count(epoch) == epochAfter && partition.count(batch) == batchBefore + 1)
  }

  @Test("A range that is skipped is recorded as lost, by the batch that skips it")
  func skip() async throws {
    let partition = try await ClickPartition(now: now)
    try partition.run([.rejected(Rejection(.malformed, "no event"))])
    let positions = LogPositions(service: try .named("click-tracking"), connection: partition.connection)
    try positions.skip(try stored(positions, .clicks), 1..<5, detail: "a test")
    #expect(try stored(positions, .clicks).position.nextOffset == 5)
    #expect(
      try partition.count(
        "SELECT next_offset - first_offset + batch_number * 100 FROM click_tracking.lost_range WHERE first_offset = 1")
        == 204)
  }
}
