import AdCore
import AdEvents
import AdSelectionCore
import Pipeline
import Postgres
import TestServices
import TestValues
import Testing

@testable import AdSelection
@testable import PipelineHost

@Suite("Creatives by content") struct CreativeTests {
  private let creative = FrozenCreative(
    lifetimeMilliseconds: 600_000, action: AdAction(kind: .leave, destination: "https://shop.example/?a=b"),
    sizes: [.phoneBannerPortrait, .phoneBannerLandscape], urls: ["https://i.example/1", "https://i.example/2"])

  private func store(_ creative: FrozenCreative, at time: Timestamp, _ connection: PostgresConnection) throws {
    let book = TermsBook(schema: "ad_selection")
    book.begin()
    _ = book.name(of: creative, servedAs: ServeID(timestamp: time, randomHigh: 1, randomLow: 1))
    try book.store(in: connection)
  }

  @Test("What a served ad shows is stored once, under the name that the database makes of it too, for the latest day")
  func once() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    for day in [3, 2, 3, 1] as [Int64] {
      try store(creative, at: Timestamp(milliseconds: day * 86_400_000), connection)
    }
    let row = try connection.query(
      """
      SELECT name, ad_selection.creative_name(lifetime_milliseconds, action, destination, image_sizes, image_urls),
        last_day::text FROM ad_selection.creative
      """)
    #expect(row.count == 1)
    #expect(try row[0].decode(0, Int64.self) == creative.name)
    #expect(try row[0].decode(1, Int64.self) == creative.name)
    #expect(try row[0].decode(2, String.self) == "1970-01-04")
    _ = try connection.query("SELECT public.forget_terms('ad_selection')")
    #expect(try connection.query("SELECT FROM ad_selection.creative").isEmpty)
  }

  @Test("A name that is another creative's is refused like a row that the database refuses")
  func otherCreative() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    let now = Timestamp(milliseconds: 86_400_000)
    try store(creative, at: now, connection)
    try connection.executeScript("UPDATE ad_selection.creative SET destination = 'https://other.example/'")
    let error = #expect(throws: PostgresError.self) { try store(creative, at: now, connection) }
    #expect(error?.isDataRefused == true)
  }

  @Test("I7: decisions on one ad share terms and creative; a request without an ad has neither, and its app")
  func shared() async throws {
    let partition = try await SelectionPartition()
    let until = partition.clock.now.advanced(byMilliseconds: 60_000)
    try partition.grant([
      (1, partition.network.grant(1 << 63, amount: 9_000_000_000, until: until, day: partition.budgetDay))
    ])
    for number in 1...3 as ClosedRange<UInt64> {
      _ = try partition.ask([try partition.network.request(number, at: partition.clock.now)])
    }
    _ = try partition.ask([try partition.network.request(4, at: partition.clock.now, key: "nobody's")])
    func numbers(_ sql: String) throws -> [Int64] {
      let row = try partition.database.query(sql)[0]
      return try (0..<row.columnCount).map { try row.decode($0) }
    }
    #expect(
      try numbers(
        "SELECT count(*), count(terms), count(creative), count(app) FROM ad_selection.decision_row") == [4, 3, 3, 1])
    #expect(
      try numbers(
        """
        SELECT (SELECT count(*) FROM ad_selection.terms), (SELECT count(*) FROM ad_selection.creative),
          count(app), count(destination) FROM ad_selection.decision
        """) == [1, 1, 4, 3])
  }
}
