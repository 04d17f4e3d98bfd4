import AdCore
import AdEvents
import ImpressionTrackingCore
import LocalProcesses
import Pipeline
import Postgres
import Runtime
import TestServers
import TestServices
import TestValues
import Testing

@testable import ImpressionTracking
@testable import PipelineHost

@Suite("Terms by content") struct TermsTests {
  private func texts(_ sql: String, _ connection: PostgresConnection) throws -> [String] {
    try connection.query(sql).map { try $0.decode(0) }
  }

  @Test("I2: terms of many serves are stored once, and each row names its own")
  func once() async throws {
    let partition = try await ImpressionPartition()
    for serve in 1...6 as ClosedRange<UInt64> {
      let campaign = "camp-\(serve % 2)"
      try partition.run([
        partition.event(.viewed, serve, campaign: campaign), partition.event(.rendered, serve, campaign: campaign),
      ])
      // Whoever takes over knows nothing of what is stored.
      if serve == 4 { try partition.takeOver() }
    }
    let connection = partition.connection
    #expect(
      try texts("SELECT campaign FROM impression_tracking.terms ORDER BY 1", connection) == ["camp-0", "camp-1"])
    let own = "SELECT concat_ws(' ', campaign, sequence) FROM impression_tracking.impression ORDER BY sequence"
    #expect(try texts(own, connection) == (1...6).map { "camp-\($0 % 2) \($0)" })
    #expect(
      try texts("SELECT DISTINCT campaign FROM impression_tracking.delivery ORDER BY 1", connection)
        == ["camp-0", "camp-1"])
    let rows = try SequenceRows.find(
      ImpressionPartition.number, from: 3, limit: 1, schema: ImpressionTracking.schema, in: connection)
    let stored = try connection.run(ReadImpressions(stored: try #require(rows)))
    guard case .event(let event) = try partition.event(.viewed, 3, campaign: "camp-1") else { return }
    #expect(stored.map(\.accepted.terms) == [event.terms])
  }

  @Test("The database names terms as the services do")
  func names() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    for isTest in [false, true] {
      let terms = FrozenTerms(
        .sample {
          $0.isTest = isTest
          $0.ad = known(AdID("a-very-long-name-of-an-ad-of-39-letters"))
        })
      let row = try connection.query(
        "SELECT public.terms_name($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        [
          terms.app, terms.developer, terms.advertiser, terms.campaign, terms.ad, terms.impressionPrice,
          terms.clickPrice, terms.currency, terms.shareBasisPoints, terms.lifeMilliseconds, terms.isTest,
        ])[0]
      #expect(try row.decode(0, Int64.self) == terms.name)
    }
  }

  @Test("No row names terms that are not its own: where others have the name, the event is refused, and no other")
  func otherTerms() async throws {
    let partition = try await ImpressionPartition()
    guard case .event(let event) = try partition.event(.viewed, 2, campaign: "second") else { return }
    let name = FrozenTerms(event.terms).name
    try partition.connection.executeScript(
      """
      INSERT INTO impression_tracking.terms
      VALUES (\(name), '2020-01-01', 'a', 'b', 'c', 'd', 'e', 1, 1, 'USD', 1, 1, false)
      """)
    try partition.run([
      partition.event(.viewed, 1), partition.event(.viewed, 2, campaign: "second"), partition.event(.viewed, 3),
    ])
    #expect(try partition.impressions() == [1, 3])
    let refused = "SELECT vocabulary.rejection_reason_name(reason) FROM impression_tracking.rejected"
    #expect(try texts(refused, partition.connection) == ["refusedByDatabase"])
  }

  @Test("On another connection terms are stored again: the database may be a restored one that lacks them")
  func restored() async throws {
    let proxy = try PostgresProxy(to: try await SharedPostgres.shared().socketPath)
    defer { proxy.close() }
    let partition = try await ImpressionPartition(through: proxy)
    try partition.run([partition.event(.viewed, 1)])
    try partition.connection.executeScript(
      "DELETE FROM impression_tracking.impression_row; DELETE FROM impression_tracking.terms")
    proxy.cutAll()
    #expect(throws: PipelineError.self) { try partition.run([partition.event(.viewed, 2)]) }
    _ = try partition.reopen()
    try partition.run([partition.event(.viewed, 2)])
    #expect(try partition.impressions() == [2])
  }

  @Test("Terms are noted for the latest day that names them, and go with the tables of that day")
  func retention() async throws {
    let configuration = try await TestDatabase.configuration()
    let connection = try PostgresConnection(configuration)
    func note(_ ad: String, _ time: Timestamp, _ book: TermsBook) throws {
      book.begin()
      _ = book.name(of: .sample(issuedAt: time) { $0.ad = known(AdID(ad)) })
      try book.store(in: connection)
    }
    let noon = SystemClock().now
    let dayMilliseconds: Int64 = 86_400_000
    let book = TermsBook(schema: "impression_tracking")
    try note("old", noon.advanced(byMilliseconds: -5 * dayMilliseconds), book)
    try note("used-again", noon.advanced(byMilliseconds: -5 * dayMilliseconds), book)
    try note("used-again", noon.advanced(byMilliseconds: -dayMilliseconds), book)
    // An event of an earlier day, known by another process.
    try note(
      "used-again", noon.advanced(byMilliseconds: -4 * dayMilliseconds), TermsBook(schema: "impression_tracking"))
    // Counts of events behind midnight are of serves of the day before the first table.
    try note("before", noon.advanced(byMilliseconds: -3 * dayMilliseconds), book)
    let gone: Int64 = try connection.query("SELECT public.forget_terms('impression_tracking')")[0].decode(0)
    #expect(gone == 1)
    #expect(
      try texts(
        "SELECT concat_ws(' ', ad, current_date - last_day) FROM impression_tracking.terms ORDER BY ad", connection)
        == ["before 3", "used-again 1"])
    // Where older days are kept, so are their terms.
    try connection.executeScript(
      "SELECT public.keep_days('impression_tracking.delivery_row', current_date - 8, 2, 1, 36500)")
    try note("old", noon.advanced(byMilliseconds: -7 * dayMilliseconds), TermsBook(schema: "impression_tracking"))
    let none: Int64 = try connection.query("SELECT public.forget_terms('impression_tracking')")[0].decode(0)
    #expect(none == 0)
  }

  @Test("A worker remembers no more terms than it may, and stores what it forgot again")
  func bounded() async throws {
    let connection = try PostgresConnection(try await TestDatabase.configuration())
    let book = TermsBook(schema: "impression_tracking", maximum: 4)
    for batch in 0..<6 {
      book.begin()
      for ad in 0..<7 where batch % 2 == 0 || ad < 2 {
        _ = book.name(of: .sample { $0.ad = known(AdID("ad-\(ad)")) })
      }
      if batch == 3 { try connection.executeScript("DELETE FROM impression_tracking.terms") }
      try book.store(in: connection)
      #expect(book.count <= 4)
    }
    #expect(try texts("SELECT count(*)::text FROM impression_tracking.terms", connection) == ["7"])
  }
}
