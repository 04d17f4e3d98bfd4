import AdCore
import AdEvents
import Testing

@testable import Pipeline

@Suite("Records that are sent on")
struct ForwardLimitTests {
  private func record(bytes: Int) -> InputRecord<Int> {
    InputRecord(
      input: 0, offset: 0, timestamp: 0, arrival: Timestamp(milliseconds: 0), sequence: .unnumbered, event: 0,
      contentHash: 0, raw: RawRange(start: 0, keyCount: -1, valueCount: 100, headersCount: bytes - 100))
  }

  @Test("One that no producer would take is rejected, so that it cannot end one producer after the other")
  func tooLarge() {
    let records = [
      record(bytes: PipelineLimits.forwardedBytesMaximum), record(bytes: PipelineLimits.forwardedBytesMaximum + 1),
    ]
    var decision = BatchDecision(outcomes: [.forwarded, .forwarded], effects: ())
    decision.forwards = records.indices.map { .init(record: $0, topic: "ads.clicks", partition: 3, headers: []) }
    decision.refuseLargeForwards(of: records)
    #expect(decision.outcomes == [.forwarded, .rejected(.tooLarge)])
    #expect(decision.forwards.map(\.record) == [0])
    #expect(decision.rejections.map(\.record) == [1])
  }
}
