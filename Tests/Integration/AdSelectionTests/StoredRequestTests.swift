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

@Suite("Requests without a key, with a mistake, after a stall: in the database")
struct StoredRequestTests {
  private func count(_ partition: SelectionPartition, _ condition: String) throws -> Int64 {
    let rows = try partition.database.query("SELECT count(*) FROM \(condition)")
    return try #require(rows.first).decode(0)
  }

  private func strangers(_ numbers: Range<UInt64>, _ partition: SelectionPartition) throws -> [AdRequest] {
    try numbers.map { number in
      try partition.network.request(number, at: partition.clock.now, key: "invented-\(number)") {
        $0.app = AppID("invented-\(number)") ?? $0.app
        $0.placement = PlacementID("place-\(number)") ?? $0.placement
        $0.replyTopic = ""
      }
    }
  }

  @Test(
    "M1, A1: invented apps make one row a day, no app's line, no report's view and no label", arguments: [false, true])
  func strangersCount(isTakenOver: Bool) async throws {
    let partition = try await SelectionPartition()
    _ = try partition.ask([try partition.network.request(1, at: partition.clock.now, key: "live", country: "DE")])
    for first in stride(from: UInt64(100), to: 400, by: 100) {
      _ = try partition.ask(try strangers(first..<first + 100, partition))
    }
    let isUnknown = "reason = vocabulary.decision_reason('unknownKey')"
    let isBeyond = "reason = vocabulary.decision_reason('keylessBeyondLimit')"
    // All in one second of the test's clock: none of these apps is registered, and so all share what is kept.
    let kept = KeylessLimit.ofAppPerSecondMaximum
    #expect(try count(partition, "ad_selection.decision WHERE \(isUnknown)") == kept)
    #expect(try count(partition, "ad_selection.keyless_count WHERE requests = \(300 - kept) AND \(isBeyond)") == 1)
    if isTakenOver { try partition.restart() }
    try partition.rest()
    #expect(try count(partition, "ad_selection.minute_count") == 1)
    #expect(try count(partition, "ad_selection.keyless_count WHERE requests = \(kept) AND \(isUnknown)") == 1)
    #expect(try count(partition, "ad_selection.keyless_count WHERE requests = \(300 - kept) AND \(isBeyond)") == 1)
    #expect(try count(partition, "reporting.by_app") == 1)
    #expect(try count(partition, "reporting.by_placement") == 1)
    #expect(
      try count(partition, "reporting.requests_without_app_key WHERE reason = 'unknownKey' AND requests = \(kept)") == 1
    )
    let metrics = partition.metrics.exposition()
    #expect(!metrics.contains("invented"))
    #expect(metrics.contains(#"handbill_requests_without_app_key_total{reason="unknownKey"} \#(kept)"# + "\n"))
    #expect(
      metrics.contains(#"handbill_requests_without_app_key_total{reason="keylessBeyondLimit"} \#(300 - kept)"# + "\n"))
    #expect(!metrics.contains(#"handbill_decisions_total{reason="unknownKey""#))
    // The table of apps' counts takes none, whoever writes it.
    #expect(throws: PostgresError.self) {
      try partition.database.execute(
        sql: "UPDATE ad_selection.minute_count SET reason = vocabulary.decision_reason('unknownKey')")
    }
  }

  @Test("counts of requests without a key are kept as long as decisions, and until their day is sealed")
  func retention() async throws {
    let partition = try await SelectionPartition()
    try partition.database.execute(
      sql: """
        INSERT INTO ad_selection.keyless_count VALUES
          (0, current_date - 402, 16, 5), (0, current_date - 399, 16, 6), (1, current_date - 402, 16, 7)
        """)
    func kept(afterRequestOf stranger: UInt64) throws -> [Int64] {
      _ = try partition.ask(try strangers(stranger..<stranger + 1, partition))
      try partition.rest()
      let rows = try partition.database.query(
        "SELECT array_agg(requests ORDER BY partition, day)::bigint[] FROM ad_selection.keyless_count")
      return try #require(rows.first).decode(0)
    }
    #expect(try kept(afterRequestOf: 1) == [5, 6, 1, 7], "they are compared with rows that are still there")
    try partition.database.execute(
      sql: "UPDATE sealed.head SET open_from = (current_date - 401)::timestamp AT TIME ZONE 'UTC'")
    #expect(try kept(afterRequestOf: 2) == [6, 2, 7], "each partition forgets its own")
  }

  @Test("a new owner knows how many live requests of each app came in this hour and the one before, packed or not")
  func ofApps() async throws {
    let partition = try await SelectionPartition()
    let hour = partition.clock.now.milliseconds / 3_600_000 * 3_600_000
    let since = Timestamp(milliseconds: hour - 3_600_000)
    let counts = """
      SELECT 0, to_timestamp((\(hour) + minute * 60000) / 1000), 1, app, '', '', '', 'US', 1, 1, is_test, requests, 0, -1
      FROM (VALUES ('chess', 3, false, 1), ('chess', 59, false, 2), ('weather', 3, false, 4), ('chess', 3, true, 8),
        ('chess', -60, false, 16), ('chess', -61, false, 32)) AS c (app, minute, is_test, requests)
      """
    let columns = """
      partition, minute, reason, app, placement, campaign, ad, country, device, size, is_test, requests, fills, injected_error
      """
    try partition.database.execute(sql: "INSERT INTO ad_selection.minute_count (\(columns)) \(counts)")
    let packed = """
      SELECT partition, minute, array_agg(reason), array_agg(app), array_agg(placement), array_agg(campaign), array_agg(ad),
        array_agg(country), array_agg(device), array_agg(size), array_agg(is_test), array_agg(requests * 100),
        array_agg(fills), array_agg(injected_error) FROM ad_selection.minute_count GROUP BY 1, 2
      """
    try partition.database.execute(sql: "INSERT INTO ad_selection.packed_count (\(columns)) \(packed)")
    let found = try partition.database.run(CountAppRequests(partition: 0, since: since))
    let told = found.map { "\($0.key.app) \($0.key.hour - hour / 3_600_000) \($0.requests)" }.sorted()
    #expect(told == ["chess -1 1616", "chess 0 303", "weather 0 404"])
    #expect(try partition.database.run(CountAppRequests(partition: 1, since: since)).isEmpty)
  }

  @Test("M1: a request with a mistake has its row and its count, also where placement, country and device are missing")
  func mistakes() async throws {
    let partition = try await SelectionPartition()
    let requests = try (1...2).map { try partition.network.request($0, at: partition.clock.now) }
    let answers = try partition.ask(requests) { writer in
      writer.presentText(4, "")
      writer.presentText(7, "")
      writer.presentUnsigned(8, 0)
    }
    let mistakes = "placement is missing; country is missing; device is missing"
    #expect(answers.map(\.outcome) == Array(repeating: .error(.configurationError, detail: mistakes), count: 2))
    let isInvalid = "reason = vocabulary.decision_reason('requestInvalid')"
    let hasNoDevice = "vocabulary.device_name(device) IS NULL"
    let row = """
      \(isInvalid) AND outcome = vocabulary.outcome('rejectedMissingField')
      AND error = vocabulary.ad_error('configurationError') AND placement = '' AND country = '' AND \(hasNoDevice)
      """
    #expect(try count(partition, "ad_selection.decision WHERE \(row) AND detail = '\(mistakes)'") == 2)
    let isMissing = "reason = vocabulary.rejection_reason('missingField')"
    #expect(try count(partition, "ad_selection.rejected WHERE \(isMissing)") == 2)

    // A new owner knows them, counts them once, and answers them alike.
    try partition.restart()
    #expect(try partition.ask(requests) { $0.presentText(4, "") } == answers)
    #expect(try count(partition, "ad_selection.decision") == 2)
    try partition.rest()
    let counted =
      "app = 'weather' AND \(isInvalid) AND requests = 2 AND fills = 0 AND country = 'unknown' AND \(hasNoDevice)"
    #expect(try count(partition, "ad_selection.minute_count WHERE \(counted)") == 1)
    let reported = #"app = 'weather' AND requests = 2 AND errors = '{"configurationError": 2}'"#
    #expect(try count(partition, "reporting.by_app WHERE \(reported)") == 1)
  }

  @Test("Who asks in JSON is answered in JSON, with the same ad, also by a new owner that reads the decision back")
  func answersInJSON() async throws {
    let partition = try await SelectionPartition()
    let request = try partition.network.request(1, at: partition.clock.now, country: "DE")
    let answers = try partition.ask([request])
    #expect(answers.count == 1)
    #expect(try partition.ask([request], isJSON: true) == answers)
    try partition.restart()
    try partition.beat()
    #expect(try partition.ask([request], isJSON: true) == answers)
    #expect(try partition.ask([request]) == answers)
    #expect(try count(partition, "ad_selection.decision") == 1)
  }

  @Test("D2: a new owner goes by arrivals too, however long nobody owned the partition")
  func arrivals() async throws {
    let partition = try await SelectionPartition()
    func request(_ number: UInt64) throws -> AdRequest {
      try partition.network.request(number, at: partition.clock.now, country: "DE") {
        $0.clientID = "client"
        $0.deadlineMilliseconds = 60_000
      }
    }
    let start = partition.clock.now
    func at(_ milliseconds: Int64) -> Timestamp { start.advanced(byMilliseconds: milliseconds) }
    // It came at 0 and was decided at 15 s; the next came 31 s after it.
    partition.clock.advance(byMilliseconds: 15_000)
    let first = try request(1)
    let answers = try partition.ask([first], arrival: start)
    try partition.restart()
    partition.clock.advance(byMilliseconds: 16_000)
    try partition.beat()
    func isServed(_ answers: [AdResponse]) -> Bool { if case .ad? = answers.first?.outcome { true } else { false } }
    #expect(isServed(answers))
    #expect(isServed(try partition.ask([try request(2)], arrival: at(31_000))))
    // A repetition that lay in the log for five minutes, while nobody owned the partition, is one all the same; also
    // for an owner that comes after one who decided a little.
    partition.clock.advance(byMilliseconds: 300_000)
    for arrival in [at(40_000), at(59_000)] as [Timestamp] {
      try partition.restart()
      try partition.beat()
      #expect(try partition.ask([first], arrival: arrival).isEmpty, "its deadline is over")
    }
    #expect(try count(partition, "ad_selection.decision") == 2, "M1: a request counts once")
  }
}
