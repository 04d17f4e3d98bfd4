import AdCore
import Testing

@testable import Pipeline

@Suite("How many bytes of rejected records are kept")
struct RejectionLimitTests {
  private let start = Timestamp(milliseconds: 1_768_478_400_000)

  @Test(
    "Of one record no more than its limit",
    arguments: [
      (0, 0), (1, 1), (RejectionLimit.bytesPerRecordMaximum, RejectionLimit.bytesPerRecordMaximum),
      (RejectionLimit.bytesPerRecordMaximum + 1, RejectionLimit.bytesPerRecordMaximum),
      (Int.max, RejectionLimit.bytesPerRecordMaximum),
    ])
  func record(count: Int, kept: Int) {
    var limit = RejectionLimit()
    #expect(limit.allow(count, now: start) == kept)
  }

  @Test("In a minute no more than its limit, in the next one again as much")
  func minute() {
    var limit = RejectionLimit()
    let records = RejectionLimit.bytesPerMinuteMaximum / RejectionLimit.bytesPerRecordMaximum
    for _ in 0..<records {
      #expect(limit.allow(.max, now: start) == RejectionLimit.bytesPerRecordMaximum)
    }
    #expect(limit.allow(1, now: start.advanced(byMilliseconds: 59_999)) == 0)
    #expect(limit.allow(0, now: start) == 0)
    #expect(limit.allow(5, now: start.advanced(byMilliseconds: 60_000)) == 5)
  }

  @Test("What does not fit whole is left out, and smaller ones still fit")
  func remainder() {
    var limit = RejectionLimit()
    let records = RejectionLimit.bytesPerMinuteMaximum / RejectionLimit.bytesPerRecordMaximum
    for _ in 1..<records { _ = limit.allow(.max, now: start) }
    let most = RejectionLimit.bytesPerRecordMaximum - 10
    #expect(limit.allow(most, now: start) == most)
    #expect(limit.allow(11, now: start) == 0)
    #expect(limit.allow(10, now: start) == 10)
    #expect(limit.allow(1, now: start) == 0)
  }

  @Test("Of so many records in a minute rows are made; those beyond are counted, until the next minute")
  func records() {
    var limit = RejectionLimit()
    for _ in 0..<RejectionLimit.recordsPerMinuteMaximum { #expect(limit.allow(1, now: start) == 1) }
    #expect(limit.allow(1, now: start.advanced(byMilliseconds: 59_999)) == nil)
    #expect(limit.allow(0, now: start) == nil)
    #expect(limit.allow(1, now: start.advanced(byMilliseconds: 60_000)) == 1)
  }
}
