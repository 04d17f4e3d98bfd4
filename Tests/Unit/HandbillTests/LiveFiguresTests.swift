import Testing

@testable import Handbill

@Suite("The demo's live figures")
struct LiveFiguresTests {
  @Test(
    "records that wait are added up over services and partitions; what is no number of records is left out",
    arguments: [
      (["a 1\n", ""], nil), (["handbill_consumer_lag_records{topic=\"a\"} 3\nb 9\n"], 3),
      (["handbill_consumer_lag_records{p=\"0\"} 3", "handbill_consumer_lag_records{p=\"1\"} 4"], 7),
      (["handbill_consumer_lag_records{p=\"0\"} NaN\nhandbill_consumer_lag_records{p=\"1\"} 4"], 4),
      (["handbill_consumer_lag_records{p=\"0\"} +Inf"], nil), (["handbill_consumer_lag_records{p=\"0\"} 1e300"], nil),
    ] as [([String], Int64?)])
  func lag(pages: [String], records: Int64?) {
    #expect(LiveReader.lag(in: pages) == records)
  }
}
