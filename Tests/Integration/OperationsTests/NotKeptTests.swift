import AdCore
import Postgres
import Runtime
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
}
