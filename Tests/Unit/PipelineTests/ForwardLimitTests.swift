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

  private func id(_ number: UInt64) -> UUIDv7 {
    UUIDv7(timestamp: Timestamp(milliseconds: 1), randomHigh: 0, randomLow: number)
  }

  @Test("All partitions of a process remember so many things, and each goes on limiting what comes again and again")
  func bounded() {
    let bound = SharedBound(ForwardLimit.rememberedMaximum)
    var limits = (0..<64).map { _ in ForwardLimit(sharing: bound) }
    for number in 0..<200_000 as Range<UInt64> {
      let index = Int(number % 64)
      if number < 64 { limits[index].begin() }
      // One device that does not stop, among all others.
      let admitted = (limits[index].admit(id(number)), limits[index].admit(id(number % 64), kind: 1))
      #expect(admitted == (true, number < 64 * 4))
    }
    #expect((1...ForwardLimit.rememberedMaximum).contains(bound.held))
    #expect(limits.map(\.count).reduce(0, +) == bound.held)
  }

  @Test("What was sent on in a batch that was not committed does not count, nor does it keep memory")
  func reverted() {
    var limit = ForwardLimit(sharing: SharedBound(8))
    limit.begin()
    #expect((0..<6).map { _ in limit.admit(id(1)) } == [true, true, true, true, false, false])
    limit.revert()
    limit.begin()
    #expect((0..<3).map { _ in limit.admit(id(1)) } == [true, true, true])
    limit.committed()
    limit.revert()
    limit.begin()
    #expect((0..<2).map { _ in limit.admit(id(1)) } == [true, false])
    // More than it remembers, taken back: as if they had not come, and within the bound.
    limit.begin()
    for number in 10..<1_000 as Range<UInt64> { _ = limit.admit(id(number)) }
    limit.revert()
    #expect(limit.count <= 8)
    #expect((0..<5).map { _ in limit.admit(id(999)) } == [true, true, true, true, false])
  }

  @Test("What a batch notes to be taken back keeps no more than a page once it is over")
  func emptied() {
    var log = [UInt64](0..<100)
    log.empty()
    #expect(log.isEmpty && log.capacity >= 100)
    log = Array(0..<10_000)
    log.empty()
    #expect(log.isEmpty && log.capacity == 0)
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
