import AdCore
import AdEvents
import ImpressionTrackingCore
import Pipeline
import Postgres
import TestServices
import TestValues
import Testing

@testable import ImpressionTracking
@testable import PipelineHost

@Suite("Drawn ads that lie many in one row")
struct PackedDeliveryTests {
  private static let hour: Int64 = 3_600_000

  /// So many ads as they were drawn and thrown away, no two of them alike, served `apart` milliseconds one after the other,
  /// the first `offset` after the partition's start.
  private func events(
    _ count: Int, _ kinds: [ImpressionEvent.Kind] = [.rendered, .unloaded], of partition: ImpressionPartition,
    apart: Int64 = 7, at offset: Int64 = 0, isTest: Bool = false
  ) throws -> [ImpressionInput] {
    try kinds.flatMap { kind in
      try (0..<count).map { number in
        // The partition begins with a minute.
        let issuedAt = partition.start.advanced(byMilliseconds: offset + Int64(number) * apart)
        let terms = try ServedTerms.sample(
          serve: UInt64(number), partition: ImpressionPartition.number, issuedAt: issuedAt
        ) {
          $0.placement = try #require(PlacementID("place-\(number % 7)"))
          $0.country = try #require(Country(number % 3 == 0 ? "DE" : "US"))
          $0.device = number % 4 == 0 ? .pad : .phone
          $0.size = number % 2 == 0 ? .phoneBannerPortrait : .phoneBannerLandscape
          $0.campaign = try #require(CampaignID("camp-\(number % 5)"))
          if isTest { ($0.isTest, $0.allotment, $0.impressionPrice, $0.clickPrice) = (true, 0, Nanos(0), Nanos(0)) }
        }
        return .event(
          ServedEvent(
            kind: kind, terms: terms, age: .milliseconds(1_000 + Int64(number)), claimedTime: nil,
            error: kind == .failed ? .unknown : nil))
      }
    }
  }

  /// How many rows there are, how many packs, and how much both tell of.
  private func counts(_ partition: ImpressionPartition) throws -> [Int64] {
    let row = try partition.connection.query(
      """
      SELECT (SELECT count(*) FROM impression_tracking.delivery_row),
        (SELECT count(*) FROM impression_tracking.delivery_pack), (SELECT count(*) FROM impression_tracking.delivery)
      """)[0]
    return [try row.decode(0), try row.decode(1), try row.decode(2)]
  }

  private func texts(_ sql: String, _ partition: ImpressionPartition) throws -> [String] {
    try partition.connection.query(sql).map { try $0.decode(0) }
  }

  @Test("a pack tells whatever a row of its own would tell, and is found by each serve id")
  func same() async throws {
    let (packed, single) = (try await ImpressionPartition(), try await ImpressionPartition())
    try packed.run(events(100, of: packed))
    for event in try events(100, of: single) { try single.run([event]) }
    #expect(try counts(packed) == [100, 2, 200])
    #expect(try counts(single) == [200, 0, 200])
    let everything = """
      SELECT concat_ws(' ', extract(epoch FROM event_time) * 1000 - $0, right(serve_id::text, 12), to_jsonb(d) - 'batch_number'
        - 'serve_id' - 'event_time') FROM impression_tracking.delivery AS d ORDER BY kind, right(serve_id::text, 12)
      """
    func told(_ partition: ImpressionPartition) throws -> [String] {
      try texts(everything.replacing("$0", with: "\(partition.start.milliseconds)"), partition)
    }
    let all = try told(packed)
    #expect(try all == told(single))
    // No two are alike: what changed places would show.
    #expect(Set(all.map { $0.split(separator: " ").first }).count == 100)
    let alone = """
      SELECT count(*) FROM impression_tracking.delivery AS d
      WHERE (SELECT count(*) FROM impression_tracking.deliveries(d.serve_id, d.serve_id) AS a WHERE a = d) = 1
      """
    #expect(try packed.connection.query(alone)[0].decode(0, Int64.self) == 200)
  }

  @Test("of a batch those are packed that were drawn, are of one second, eight at least, and no test ads")
  func split() async throws {
    let partition = try await ImpressionPartition()
    try partition.run(events(8, [.rendered], of: partition) + events(9, [.unloaded, .failed], of: partition))
    #expect(try counts(partition) == [18, 1, 26])
    try partition.run(events(7, [.rendered], of: partition, at: -1 * Self.hour))
    #expect(try counts(partition) == [25, 1, 33])
    try partition.run(events(20, [.rendered], of: partition, at: -2 * Self.hour, isTest: true))
    #expect(try counts(partition) == [45, 1, 53])
    // Ten in each second.
    try partition.run(events(30, [.rendered], of: partition, apart: 100, at: -3 * Self.hour))
    #expect(try counts(partition) == [45, 4, 83])
    let seconds = """
      SELECT count(*) FROM impression_tracking.delivery_pack
      WHERE date_trunc('second', public.time_of(serve_id)) <> date_trunc('second', public.time_of(last_serve_id))
      """
    #expect(try partition.connection.query(seconds)[0].decode(0, Int64.self) == 0)
  }

  @Test("M4: what is told once more to another owner is found in packs, and counts once")
  func again() async throws {
    let partition = try await ImpressionPartition()
    try partition.run(events(40, of: partition, at: -1 * Self.hour))
    try partition.takeOver()
    let summary = try partition.run(events(41, of: partition, at: -1 * Self.hour))
    #expect(summary.outcomes[Int(Outcome.duplicate.rawValue)] == 80)
    #expect(try counts(partition) == [42, 1, 82])
    try partition.writeCounts()
    #expect(
      try texts(
        "SELECT concat_ws(' ', kind, sum(events)) FROM impression_tracking.all_count GROUP BY kind ORDER BY kind",
        partition)
        == ["1 41", "3 41"])
  }

  @Test("M4: one of a pack alone, and among others one that has a row of its own, are found too")
  func alone() async throws {
    let partition = try await ImpressionPartition()
    let drawn = try events(40, [.rendered], of: partition, at: -Self.hour)
    try partition.run(Array(drawn[10..<30]))
    try partition.run([drawn[35]])
    try partition.takeOver()
    #expect(try partition.run([drawn[17]]).outcomes[Int(Outcome.duplicate.rawValue)] == 1)
    #expect(try partition.run(Array(drawn[30..<40])).outcomes[Int(Outcome.duplicate.rawValue)] == 1)
    #expect(try counts(partition) == [1, 2, 30])
  }

  @Test("M6: whoever takes over counts what lies in packs once more, be it of now or of long before its batch")
  func counted() async throws {
    let partition = try await ImpressionPartition()
    let old = try events(30, of: partition, apart: 90, at: -20 * Self.hour)
    try partition.run(events(40, of: partition) + old)
    try partition.takeOver()
    try partition.writeCounts()
    let sums = """
      SELECT concat_ws(' ', kind, minute, app, campaign, ad, placement, country, device, size, sum(events))
      FROM impression_tracking.all_count GROUP BY kind, minute, app, campaign, ad, placement, country, device, size
      """
    let rows = """
      SELECT concat_ws(' ', kind, date_trunc('minute', event_time), app, campaign, ad, placement, country, device, size,
        count(*)) FROM impression_tracking.delivery
      GROUP BY kind, date_trunc('minute', event_time), app, campaign, ad, placement, country, device, size
      """
    let counts = try texts(sums, partition)
    #expect(try counts.sorted() == texts(rows, partition).sorted() && counts.count > 60)
  }

  @Test("M6: a named pack that reaches over the lowest id of the others counts once")
  func overlapping() async throws {
    let partition = try await ImpressionPartition()
    // Two packs of one second, each of every other ad. What is named was served two minutes before the latest: all of the
    // first pack, and of the second all but its last.
    let border: Int64 = 2_500 - RowKeys.namedBeforeMilliseconds
    let drawn = try events(100, [.rendered], of: partition, apart: 4, at: border - 99 * 4)
    let every = [0, 1].flatMap { first in stride(from: first, to: 100, by: 2).map { drawn[$0] } }
    try partition.run(every + events(1, [.viewed], of: partition, at: 2_500))
    #expect(try counts(partition) == [0, 2, 100])
    let named = "SELECT cardinality(named_serve_ids)::bigint FROM impression_tracking.batch"
    #expect(try partition.connection.query(named)[0].decode(0, Int64.self) == 1)
    try partition.takeOver()
    try partition.writeCounts()
    #expect(
      try texts("SELECT concat_ws(' ', kind, sum(events)) FROM impression_tracking.all_count GROUP BY kind", partition)
        .sorted() == ["1 100", "2 1"])
  }

  @Test("whoever looks for some reads the packs of their seconds, not those of a day")
  func plan() async throws {
    let partition = try await ImpressionPartition()
    for hour in 1...20 {
      try partition.run(events(20, of: partition, apart: 40, at: -Int64(hour) * Self.hour))
    }
    try partition.connection.executeScript(
      "ANALYZE impression_tracking.delivery_row, impression_tracking.delivery_pack; SET enable_seqscan = off")
    let asked = try events(20, [.rendered], of: partition, apart: 40, at: -3 * Self.hour).compactMap {
      input -> UUIDv7? in
      if case .event(let event) = input { event.terms.serveID } else { nil }
    }
    let statement = FindDeliveries(partition: ImpressionPartition.number, ids: Set(asked), kind: .rendered)
    #expect(try Set(partition.connection.run(statement)) == Set(asked))
    let plan = try QueryPlan(FindDeliveries.sql, statement.parameters, partition.connection)
    // Each of the 20 finds its pack.
    #expect(plan.rows("on delivery_pack") <= 20 && plan.rowsThrownAway <= 20, "\(plan.lines.joined(separator: "\n"))")
  }
}
