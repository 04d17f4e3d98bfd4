import AdCore
import AdEvents
import ClickTrackingCore
import Postgres
import Runtime
import TestValues
import Testing

@testable import ClickTracking

@Suite("What click tracking stores many of in one row")
struct StoredPlacesTests {
  /// The day's tables stand around today; in the middle of a second.
  private let now = Timestamp(milliseconds: SystemClock().now.milliseconds / 1_000 * 1_000 + 500)

  /// Seen a second after it was served, so many milliseconds ago.
  private func impression(_ number: UInt64, served ago: Int64) -> AcceptedImpression {
    let issuedAt = now.advanced(byMilliseconds: -ago)
    let terms = ServedTerms.sample(serve: number, partition: ClickPartition.number, issuedAt: issuedAt)
    return AcceptedImpression(
      terms: terms, eventTime: issuedAt.advanced(byMilliseconds: Int64(1_000 + number)), arrival: now)
  }

  @Test("M5: a tap finds when its ad was seen, however many others lie in one row with it, and no ad that was not")
  func found() async throws {
    let partition = try await ClickPartition(now: now)
    // More of one second than a row holds, and the next ones on both sides of a second's end.
    let seen = (0..<300).map { impression(UInt64($0), served: 60_000 + Int64($0) * 7) }
    let unseen = (300..<330).map { impression(UInt64($0), served: 60_003 + Int64($0 - 300) * 70) }
    try partition.run(seen.shuffled().map { .impression($0) })
    try partition.run((1_000..<1_003).map { .impression(impression($0, served: 60_500)) })
    let find = FindTappedImpressions(
      partition: ClickPartition.number, ids: (seen + unseen).map(\.terms.serveID).shuffled())
    let found = try partition.connection.run(find)
    #expect(found.count == seen.count)
    let times = Dictionary(uniqueKeysWithValues: found.map { ($0.serveID, $0.shownAt) })
    for impression in seen { #expect(times[impression.terms.serveID] == impression.eventTime) }
    let rows = try partition.count("SELECT count(*) FROM click_tracking.impression_pack")
    #expect((300 / KnownImpressionRows.impressionsMaximum..<30).contains(Int(rows)))
    let elsewhere = FindTappedImpressions(partition: ClickPartition.number + 1, ids: seen.map(\.terms.serveID))
    #expect(try partition.connection.run(elsewhere).isEmpty)
  }

  @Test("Positions are found by their topics, in whatever order the partition's row has them")
  func order() async throws {
    let partition = try await ClickPartition(now: now)
    try partition.run((0..<5).map { .impression(impression($0, served: 60_000)) })
    let positions = """
      SELECT string_agg(concat_ws(' ', topic, next_offset, last_offset, last_timestamp, last_hash, consumed_sequence,
        consumed_watermark), E'\\n' ORDER BY topic) FROM click_tracking.input
      """
    let before: String = try partition.connection.query(positions)[0].decode(0)
    func swapped(_ column: String) -> String { "\(column) = ARRAY[\(column)[2], \(column)[1]]" }
    try partition.connection.executeScript(
      "UPDATE click_tracking.partition SET "
        + [
          "input_topics", "next_offsets", "last_offsets", "last_timestamps", "last_hashes", "consumed_sequences",
          "consumed_watermarks",
        ].map(swapped).joined(separator: ", "))
    try partition.takeOver()
    #expect(try partition.connection.query(positions)[0].decode(0) == before)
    // The service's own order is the row's from then on: what is committed next stands at its place.
    try partition.run([.impression(impression(9, served: 60_000))])
    let offsets: [Int64] = try partition.connection.query(
      "SELECT array_agg(next_offset ORDER BY topic) FROM click_tracking.input")[0].decode(0)
    #expect(offsets == [0, 6])
  }
}
