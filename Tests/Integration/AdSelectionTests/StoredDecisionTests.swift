import AdCore
import AdEvents
import AdSelectionCore
import Pipeline
import Postgres
import TestServices
import TestValues
import Testing

@testable import AdSelection
@testable import Runtime

@Suite("Decisions in the database")
struct StoredDecisionTests {
  private func count(_ partition: SelectionPartition, _ condition: String) throws -> Int64 {
    let rows = try partition.database.query("SELECT count(*) FROM ad_selection.\(condition)")
    return try #require(rows.first).decode(0)
  }

  @Test("I7: a served ad has one row with the terms that its token says; a restart answers the same request alike")
  func served() async throws {
    let partition = try await SelectionPartition()
    let until = partition.clock.now.advanced(byMilliseconds: 60_000)
    let grant = partition.network.grant(1 << 63, amount: 9_000_000_000, until: until, day: partition.budgetDay)
    try partition.grant([(1, grant)])
    let request = try partition.network.request(1, at: partition.clock.now)
    let answers = try partition.ask([request])
    guard case .ad(let ad)? = answers.first?.outcome else {
      Issue.record("\(answers)")
      return
    }
    #expect(ad.ad.text == "summer-1" && ad.images.count == 2)
    guard
      case .valid(let terms) = try ServeTokenOpener(ring: partition.network.ring)
        .open(ad.token, now: partition.clock.now)
    else {
      Issue.record("the token is not valid")
      return
    }
    let rows = try partition.database.query(
      """
      SELECT \(TermsColumns.list), reserved FROM ad_selection.decision
      WHERE reason = vocabulary.decision_reason('served')
      """)
    #expect(try rows.map { row in try TermsColumns.decode(row, from: 0) } == [terms])
    let reserved: Int64 = try #require(rows.first).decode(TermsColumns.names.count)
    #expect(try count(partition, "allotment WHERE used = \(reserved) AND closed_at IS NULL") == 1)
    #expect(try count(partition, "minute_count") == 0)

    try partition.restart()
    #expect(try partition.ask([request]) == answers)
    #expect(try count(partition, "decision") == 1)
    try partition.rest()
    #expect(try count(partition, "minute_count") == 1)
    #expect(try count(partition, "minute_count WHERE requests = 1 AND fills = 1 AND campaign = 'summer'") == 1)
    try partition.restart()
    try partition.rest()
    #expect(try count(partition, "minute_count WHERE requests = 1") == 1)
  }

  @Test("of more decisions than a partition may remember its next owner reads the newest, and no more")
  func flood() async throws {
    let partition = try await SelectionPartition()
    _ = try partition.ask([try partition.network.request(1, at: partition.clock.now)])
    _ = try partition.database.query(
      """
      INSERT INTO ad_selection.decision_row
      SELECT more.* FROM ad_selection.decision_row d CROSS JOIN generate_series(1, \(SelectionMemory.readMaximum) + 10) AS n
      CROSS JOIN LATERAL jsonb_populate_record(d,
        jsonb_build_object('serve_id', substr(d.serve_id::text, 1, 24) || lpad(to_hex(n), 12, '0'))) AS more
      """)
    let find = FindRecentDecisions(partition: 0, memoryMilliseconds: 75_000, now: partition.clock.now)
    let ranges = try #require(try partition.database.run(find).first)
    let read = try partition.database.run(ReadRecentDecisions(partition: 0, ranges: ranges))
    #expect(read.count == SelectionMemory.readMaximum)
    #expect(try count(partition, "decision_row") > read.count)
    #expect(zip(read, read.dropFirst()).allSatisfy { $0.id > $1.id })
  }

  @Test("A2, M6: an error that a test request got for nothing is counted from its row as what it is")
  func injectedError() async throws {
    let partition = try await SelectionPartition()
    _ = try partition.ask([
      try partition.network.request(1, at: partition.clock.now) { $0.requiredSizes = ["huge"] }
    ])
    // Whether one is injected is up to chance: this makes the row what it would be then.
    let rows = try partition.database.query(
      """
      UPDATE ad_selection.decision SET reason = vocabulary.decision_reason('testError')
      RETURNING error, date_trunc('minute', arrival)::text
      """)
    let row = try #require(rows.first)
    let error: Int16 = try row.decode(0)
    let minute: String = try row.decode(1)
    try partition.restart()
    try partition.rest()
    let condition = "injected_error = \(error) AND minute = '\(minute)' AND requests = 1 AND fills = 0"
    let reason = "reason = vocabulary.decision_reason('testError')"
    #expect(try count(partition, "minute_count WHERE \(reason) AND \(condition)") == 1)
  }

  @Test("M1: requests without an ad have rows and counts that say why")
  func refused() async throws {
    let partition = try await SelectionPartition()
    let now = partition.clock.now
    let network = partition.network
    let requests = [
      try network.request(1, at: now), try network.request(2, at: now, key: "wrong"),
      try network.request(3, at: now, country: "DE"), try network.request(4, at: now, key: "test"),
      try network.request(5, at: now) { $0.requiredSizes = ["huge"] },
      try network.request(6, at: now) { $0.replyTopic = "ads.responses.other" },
    ]
    let answers = try partition.ask(requests)
    // Where a reply address is wrong, the app's own topic is answered.
    #expect(answers.map(\.requestID) == requests.map(\.requestID))
    for row in [
      "reason = vocabulary.decision_reason('requestInvalid') AND outcome = vocabulary.outcome('rejectedInvalidReply')",
      "reason = vocabulary.decision_reason('noAllotment') AND error = vocabulary.ad_error('inventoryUnavailable') "
        + "AND excluded_reasons = '{5,16}'",
      "reason = vocabulary.decision_reason('unknownKey') AND error = vocabulary.ad_error('configurationError') "
        + "AND candidates = 0",
      "reason = vocabulary.decision_reason('servedHouse') AND campaign = 'own' AND expected_value = 0",
      "reason = vocabulary.decision_reason('servedTest') AND is_test AND array_length(image_urls, 1) = 2",
      "reason = vocabulary.decision_reason('sizeRefused') AND size IS NULL AND detail LIKE 'S3%'",
    ] {
      #expect(try count(partition, "decision WHERE \(row)") == 1, "\(row)")
    }
    #expect(try count(partition, "rejected WHERE reason = vocabulary.rejection_reason('invalidReply')") == 1)
    #expect(try count(partition, "decision") == 6)
    let metrics = partition.metrics.exposition()
    for line in [
      #"{reason="servedHouse",test="false"} 1"#, #"{reason="servedTest",test="true"} 1"#,
      #"{reason="served",test="false"} 0"#,
    ] {
      #expect(metrics.contains("handbill_decisions_total\(line)\n"))
    }

    // After a restart each with a key is still known, and test ads go on where they were.
    try partition.restart()
    #expect(try partition.ask(Array(requests.prefix(5))).map(\.outcome) == answers.prefix(5).map(\.outcome))
    #expect(try count(partition, "decision") == 7)
    // The counts are those of the rows, by a process that decided nearly none of them.
    try partition.rest()
    #expect(try count(partition, "minute_count WHERE requests = 1") == 5)
    let keyless = "reason = vocabulary.decision_reason('unknownKey') AND requests = 2"
    #expect(try count(partition, "keyless_count WHERE \(keyless)") == 1)
    #expect(try count(partition, "minute_count WHERE fills = 1") == 2)
    let dimensions = "reason, app, placement, country, device, coalesce(size, 0), is_test, coalesce(campaign, ''),"
    let counted = "reason, app, placement, country, device, size, is_test, campaign, ad"
    let differing = try partition.database.query(
      """
      SELECT \(dimensions) coalesce(ad, '') FROM ad_selection.decision
      WHERE reason <> vocabulary.decision_reason('unknownKey')
      EXCEPT SELECT \(counted) FROM ad_selection.minute_count
      WHERE vocabulary.ad_error_name(injected_error) IS NULL
      """)
    #expect(differing.isEmpty)
  }

  @Test("of closed allotments a new owner reads one for each campaign and budget day, which holds all their ordinals")
  func closedAllotments() async throws {
    let partition = try await SelectionPartition()
    let start = partition.clock.now
    let today = Int32(start.milliseconds / 86_400_000)
    // The first ends long after the others; the last is open. Of weeks before there are as many of another campaign.
    try partition.database.executeScript(
      """
      INSERT INTO ad_selection.allotment (id, partition, ordinal, campaign, budget_day, amount, used, serve_until,
        batch_number, click_rates, closed_at, report_sequence)
      SELECT 5000000 + 1000 * day + n, 0, n, 'autumn', \(today) - day, 1000, 0, now() - day * interval '1 day' - interval '1 min',
        1, '43590', now(), 5000000 + 1000 * day + n
      FROM generate_series(1, 500) AS n CROSS JOIN generate_series(0, 40) AS day;
      INSERT INTO ad_selection.allotment (id, partition, ordinal, campaign, budget_day, amount, used, serve_until,
        batch_number, click_rates, closed_at, report_sequence)
      SELECT 10000 * day + 5000 * place + n, place, n, 'summer', \(today) - 2 + day, 1000, n % 1000,
        now() + CASE n WHEN 1 THEN interval '1 h' ELSE interval '1 s' END, 1, '43590',
        CASE WHEN n < 2000 THEN now() END, CASE WHEN n < 2000 THEN 10000 * day + n END
      FROM generate_series(1, 2000) AS n CROSS JOIN unnest('{1,2}'::int[]) AS day
        CROSS JOIN unnest('{0,1}'::int[]) AS place;
      ANALYZE ad_selection.allotment;
      """)
    let (all, rowsRead) = try partition.database.transaction { connection throws(PostgresError) in
      let all = try connection.run(ReadAllotments(partition: 0, since: start))
      let sql = """
        SELECT (seq_tup_read + idx_tup_fetch)::bigint FROM pg_stat_xact_user_tables WHERE relname = 'allotment'
          AND schemaname = 'ad_selection'
        """
      return (all, try connection.query(sql)[0].decode(0, Int64.self))
    }
    #expect(rowsRead < 30, "of 24,500 rows \(rowsRead) were read")
    #expect(all.filter { $0.closedAt == nil }.map(\.ordinal) == [2_000, 2_000])
    let closed = all.filter { $0.closedAt != nil }
    #expect(
      closed.map { [Int64($0.budgetDay - today), $0.ordinal] }.sorted { $0.lexicographicallyPrecedes($1) }
        == [[-1, 1_999], [0, 500], [0, 1_999]])
    // As long as any of them would be remembered.
    #expect(closed.allSatisfy { $0.serveUntil.milliseconds(since: start) > 3_600_000 })
    let later = ReadAllotments(partition: 0, since: start.advanced(byMilliseconds: 3_600_000))
    let remembered = try partition.database.run(later).filter { $0.closedAt != nil }
    #expect(remembered.map(\.ordinal).sorted() == [500, 1_999, 1_999])
    let tomorrow = ReadAllotments(partition: 0, since: start.advanced(byMilliseconds: 90_000_000))
    #expect(try partition.database.run(tomorrow).allSatisfy { $0.closedAt == nil })
    var book = AllotmentBook(restoring: closed)
    let again = partition.network.grant(7, ordinal: 1_999, amount: 1, until: start, day: today)
    #expect(book.apply(again) == .known)
  }

  @Test("A closed allotment is neither used nor opened again, and one use of an open one locks no row before it")
  func closedStays() async throws {
    let partition = try await SelectionPartition()
    try partition.database.executeScript(
      """
      INSERT INTO ad_selection.allotment (id, partition, ordinal, campaign, budget_day, amount, used, serve_until,
        batch_number, click_rates, closed_at, report_sequence)
      VALUES (1, 0, 1, 'autumn', 1, 1000, 0, now(), 1, '43590', NULL, NULL), (2, 0, 2, 'autumn', 1, 1000, 0, now(), 1, '43590', now(), 1)
      """)
    func use(_ change: String) -> PostgresError? {
      #expect(throws: PostgresError.self) {
        _ = try partition.database.query("UPDATE ad_selection.allotment SET \(change) WHERE id = 2")
      }
    }
    #expect(use("used = 1")?.sqlState == "23514")
    #expect(use("closed_at = NULL, report_sequence = NULL")?.sqlState == "23514")
    _ = try partition.database.query("SELECT ad_selection.use_allotments(0, '{1}', '{5}', '{0}')")
    // Whoever locks a row leaves its own number there, as the one who ended it.
    let locked = """
      SELECT count(*) FROM ad_selection.allotment WHERE id = 1 AND used = 5 AND xmax <> 0
      """
    #expect(try partition.database.query(locked)[0].decode(0, Int64.self) == 0)
  }

  @Test("A2: of many clients with test requests a new owner reads those that asked last, and no more than he may count")
  func manyTesters() async throws {
    let partition = try await SelectionPartition()
    let now = partition.clock.now
    _ = try partition.ask([try partition.network.request(4, at: now, key: "test")])
    let most = SelectionMemory.readTestClientsMaximum
    _ = try partition.database.query(
      """
      INSERT INTO ad_selection.decision_row
      SELECT (jsonb_populate_record(d, jsonb_build_object(
        'serve_id', substr(d.serve_id::text, 1, 24) || lpad(to_hex(n), 12, '0'), 'client_hash', n))).*
      FROM ad_selection.decision_row d CROSS JOIN generate_series(1, \(most + 10)) AS n
      """)
    let read = try partition.database.run(CountTestRequests(partition: 0, day: TestSequence.day(of: now)))
    #expect(read.count == most)
    // The first ones asked the longest ago.
    #expect(Set(read.map(\.client)).isDisjoint(with: 1...9))
  }

  @Test("an allotment is asked for, closed once with a report in sequence, and never used afterwards")
  func allotments() async throws {
    let partition = try await SelectionPartition()
    try partition.tick()
    let ask = try #require(partition.published.take("ads.usage").first)
    guard case .ask(let wanted) = try ClientHeaders.decode(UsageRecord.self, ask) else {
      Issue.record("no ask")
      return
    }
    #expect(wanted.campaign == partition.network.campaign.id && wanted.ordinal == 1)
    #expect(wanted.budgetDay == partition.budgetDay && wanted.fullPrice == Nanos(2_010_000_000))

    let until = partition.clock.now.advanced(byMilliseconds: 5_000)
    let grant = partition.network.grant(7, amount: 9_000_000_000, until: until, day: partition.budgetDay)
    try partition.grant([(1, grant), (2, grant)])
    _ = try partition.ask([try partition.network.request(1, at: partition.clock.now)])
    partition.clock.advance(byMilliseconds: 5_000)
    try partition.beat()
    try partition.tick()
    let reports = try partition.published.take("ads.usage").compactMap { message -> AllotmentReport? in
      guard case .report(1, let report) = try ClientHeaders.decode(UsageRecord.self, message) else { return nil }
      return report
    }
    #expect(reports.map(\.allotment) == [7])
    let used = try #require(reports.first).used.value
    #expect(used > 0)
    #expect(try count(partition, "allotment WHERE used = \(used) AND report_sequence = 1") == 1)
    #expect(throws: PostgresError.self) {
      try partition.database.execute(sql: "UPDATE ad_selection.allotment SET used = used + 1")
    }
    #expect(throws: PostgresError.self) {
      try partition.database.execute(
        sql:
          "INSERT INTO ad_selection.allotment (id, partition, ordinal, campaign, budget_day, amount, used, serve_until, "
          + "batch_number, click_rates) SELECT 9, 0, 2, campaign, budget_day, amount, amount + 1, serve_until, "
          + "batch_number, click_rates FROM ad_selection.allotment")
    }
    // Nothing was reported as delivered: the next owner sends the report again, made from its row.
    try partition.restart()
    let again = try #require(partition.published.take("ads.usage").first)
    #expect(try ClientHeaders.decode(UsageRecord.self, again) == .report(sequence: 1, try #require(reports.first)))
  }
}
