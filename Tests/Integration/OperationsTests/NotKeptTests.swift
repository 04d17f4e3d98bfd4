import AdCore
import JSON
import Postgres
import Runtime
import TestServices
import Testing

@testable import Operations

@Suite struct NotKeptTests {
  @Test("Rejected records that a flood left without a row are counted by service and time")
  func notKept() async throws {
    let pool = try await TestDatabase.pool()
    defer { pool.close() }
    let begin = Timestamp(milliseconds: 1_700_000_000_000)
    func moment(_ minutes: Int64) -> Timestamp { begin.advanced(byMilliseconds: minutes * 60_000) }
    try pool.withConnection { connection throws(PostgresError) in
      for (service, number, minute, count) in [
        ("click_tracking", Int64(1), Int64(0), Int64(7)), ("click_tracking", 2, 10, 100), ("billing", 1, 10, 1_000),
        ("billing", 2, 10, 0),
      ] {
        _ = try connection.execute(
          sql: """
            INSERT INTO \(service).batch (partition, batch_number, committed_at, watermark, first_arrival, last_arrival,
              input_topics, first_offsets, next_offsets, output_topics, first_sequences, next_sequences, outcomes,
              rejected_not_kept)
            VALUES (0, $1, $2, $2, $2, $2, '{}', '{}', '{}', '{}', '{}', '{}', '', $3)
            """, [number, moment(minute).postgres, count])
      }
    }
    let records = RejectedRecords(pool)
    #expect(try records.notKept(RejectedQuery()) == 1_107)
    #expect(try records.notKept(RejectedQuery(service: "click-tracking")) == 107)
    #expect(try records.notKept(RejectedQuery(since: moment(5))) == 1_100)
    #expect(try records.notKept(RejectedQuery(since: moment(10), until: moment(10))) == 0)
    #expect(try records.notKept(RejectedQuery(until: moment(10))) == 7)
    #expect(try records.notKept(RejectedQuery(since: moment(11))) == 0)
  }

  @Test("A list of rejected records that is cut says of how many these are the latest")
  func cut() async throws {
    let pool = try await TestDatabase.pool()
    defer { pool.close() }
    try pool.withConnection { connection throws(PostgresError) in
      try connection.executeScript(
        """
        INSERT INTO click_tracking.rejected (partition, topic, record_offset, batch_number, arrival, reason, detail, value,
          value_length, value_hash)
        SELECT 0, 'ads.clicks', n, 1, '2026-01-01Z'::timestamptz + n * interval '1 s', 64 + n % 2, 'why', '', 0, ''
        FROM generate_series(0, 4) AS n
        """)
    }
    let records = RejectedRecords(pool)
    func list(_ rows: Int, service: String? = nil) throws -> (count: Int, total: Int64, text: String) {
      let list = try records.list(RejectedQuery(service: service, rowsMaximum: rows))
      #expect(list.json(\.json)["isCut"] == .flag(list.isCut) && list.json(\.json)["rowsTotal"] == .integer(list.total))
      return (list.items.count, list.total, KeptRecord.table(list))
    }
    let cut = try list(2)
    #expect(cut.count == 2 && cut.total == 5)
    #expect(cut.text.hasSuffix("The latest 2 of 5 records; --limit takes more, up to 10,000.\n"))
    #expect(cut.text.contains("ads.clicks/0/4") && !cut.text.contains("ads.clicks/0/2"))
    let whole = try list(5)
    #expect(whole.count == 5 && whole.total == 5 && !whole.text.contains("The latest"))
    #expect(try list(3, service: "billing").total == 0)
  }
}
