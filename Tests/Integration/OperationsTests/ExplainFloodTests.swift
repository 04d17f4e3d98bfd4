import AdCore
import JSON
import LocalProcesses
import Postgres
import TestServices
import Testing

@testable import Operations

@Suite("Explanations of an ad of which very much was told")
struct ExplainFloodTests {
  private static let taps = 1_000

  /// Taps on the served ad with ids of their own, each free, the first told last; each in a batch of its own.
  private static let flood = """
    INSERT INTO click_tracking.click (serve_id, id_hash, partition, batch_number, sequence, verdict, was_parked, event_time,
      arrival, expires_at, app, developer, advertiser, campaign, ad, placement, country, device, size, impression_price,
      click_price, currency, share_basis_points, allotment, budget_day, client_hash, is_test)
    SELECT serve_id, 1000 + n, partition, 1 + n, 2 + \(taps) - n, vocabulary.click_verdict('repeat'), false,
      event_time + n * interval '1 s', arrival, expires_at, app, developer, advertiser, campaign, ad, placement, country,
      device, size, impression_price, click_price, currency, share_basis_points, allotment, budget_day, client_hash, is_test
    FROM click_tracking.click, generate_series(1, \(taps)) AS n;
    INSERT INTO billing.charge (serve_id, kind, id_hash, partition, batch_number, event_time, fate, price, allotment,
      budget_day, share_basis_points, app, developer, advertiser, campaign, ad, placement, country, device, size, currency)
    SELECT serve_id, kind, 1000 + n, partition, batch_number, event_time + n * interval '1 s', 18, price, allotment,
      budget_day, share_basis_points, app, developer, advertiser, campaign, ad, placement, country, device, size, currency
    FROM billing.charge, generate_series(1, \(taps)) AS n WHERE kind = vocabulary.charge_kind('click');
    INSERT INTO click_tracking.batch (partition, batch_number, committed_at, watermark, input_topics, first_offsets,
      next_offsets, output_topics, first_sequences, next_sequences, outcomes)
    SELECT 0, 1 + n, now() + n * interval '1 s', now(), '{ads.clicks}', ARRAY[n], ARRAY[n + 1], '{}', '{}', '{}', '\\x0101'
    FROM generate_series(1, \(taps)) AS n;
    """

  private func explain(after script: String) async throws -> ServeExplanation {
    let pool = try await TestDatabase.pool()
    defer { pool.close() }
    return try await onOwnThread {
      try pool.withConnection { connection throws(PostgresError) in try connection.executeScript(script) }
      return try Explain(pool).explain(try #require(ExplainSubject.read(ReconciliationTests.serve)))
    }
  }

  @Test("of each list the first rows are told, and how many there are")
  func flood() async throws {
    let found = try await explain(after: ReconciliationTests.served + Self.flood)
    let rows = ServeSections.rowsMaximum
    let json = found.json
    #expect(json["isCut"] == true)
    let clicks = try #require(json["clicks"]?.elements)
    #expect(clicks.map { $0["sequence"]?.integerValue } == (1...Int64(rows)).map { $0 })
    #expect(json["rowsTotal"]?["clicks"] == .integer(Int64(Self.taps + 1)))
    let charges = try #require(json["charges"]?.elements)
    #expect(charges.count == rows && charges[0]["kind"] == "impression" && charges[1]["fate"] == "charged")
    #expect(charges.last?["eventTime"] == "2030-01-01T00:05:18Z")
    #expect(json["rowsTotal"]?["charges"] == .integer(Int64(Self.taps + 2)))
    let batches = try #require(json["batches"]?.elements)
    #expect(batches.count == rows && batches.last?["batchNumber"] == .integer(Int64(rows)))
    #expect(json["rowsTotal"]?["batches"] == .integer(Int64(Self.taps + 1)))
    #expect(json["rowsTotal"]?["postings"] == 3 && json["rowsTotal"]?["suspense"] == 0)
    for sentence in [
      "Told are the first 200 of its 1,001 taps.", "Told are the first 200 of its 1,002 charges.",
      "Told are the first 200 of its 1,001 batches.",
    ] { #expect(found.text.contains(sentence), "\(found.text.suffix(300))") }
    #expect(found.text.ranges(of: "It was tapped at").count == rows)
  }

  @Test("where nothing is left out, that is said too")
  func whole() async throws {
    let found = try await explain(after: ReconciliationTests.served)
    #expect(found.json["isCut"] == false && found.json["rowsTotal"]?["clicks"] == 1)
    #expect(!found.text.contains("Told are the first"))
  }
}
