import AdCore
import Testing

@testable import Pipeline

@Suite("Whether a position still belongs to its log")
struct TopicIdentityTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var nextOffset: Int64 = 10
    var last: RecordIdentity? = TopicIdentityTests.read
    let probe: TopicProbe
    let expected: Expected
  }

  enum Expected: Sendable, Equatable {
    case same
    case gap(Range<Int64>)
    case replaced
  }

  private static let read = RecordIdentity(offset: 9, timestamp: 500, contentHash: 77)
  private static func other(timestamp: Int64 = 500, hash: UInt64 = 77, offset: Int64 = 9) -> RecordIdentity {
    RecordIdentity(offset: offset, timestamp: timestamp, contentHash: hash)
  }

  private static let cases = [
    Case(
      testDescription: "the record is there", probe: TopicProbe(firstOffset: 0, endOffset: 10, record: read),
      expected: .same),
    Case(
      testDescription: "the log has grown", probe: TopicProbe(firstOffset: 3, endOffset: 90, record: read),
      expected: .same),
    Case(
      testDescription: "the record's content differs",
      probe: TopicProbe(firstOffset: 0, endOffset: 10, record: other(hash: 78)), expected: .replaced),
    Case(
      testDescription: "the record's timestamp differs",
      probe: TopicProbe(firstOffset: 0, endOffset: 10, record: other(timestamp: 501)), expected: .replaced),
    Case(
      testDescription: "another offset was found",
      probe: TopicProbe(firstOffset: 0, endOffset: 12, record: other(offset: 8)), expected: .replaced),
    Case(
      testDescription: "the log ends before the position", probe: TopicProbe(firstOffset: 0, endOffset: 9, record: nil),
      expected: .replaced),
    Case(
      testDescription: "the log is empty", probe: TopicProbe(firstOffset: 0, endOffset: 0, record: nil),
      expected: .replaced),
    Case(
      testDescription: "nothing lies where a record was read",
      probe: TopicProbe(firstOffset: 0, endOffset: 12, record: nil), expected: .replaced),
    Case(
      testDescription: "the last record was removed by retention, nothing unread with it",
      probe: TopicProbe(firstOffset: 10, endOffset: 12, record: nil), expected: .same),
    Case(
      testDescription: "retention removed what was not read",
      probe: TopicProbe(firstOffset: 15, endOffset: 20, record: nil), expected: .gap(10..<15)),
    Case(
      testDescription: "a hole behind the last record", nextOffset: 12,
      probe: TopicProbe(firstOffset: 0, endOffset: 12, record: read), expected: .same),
    Case(
      testDescription: "no record was ever read", nextOffset: 4, last: nil,
      probe: TopicProbe(firstOffset: 0, endOffset: 4, record: nil), expected: .same),
    Case(
      testDescription: "no record was ever read, and retention passed the position", nextOffset: 4, last: nil,
      probe: TopicProbe(firstOffset: 6, endOffset: 6, record: nil), expected: .gap(4..<6)),
  ]

  @Test("The last record read decides", arguments: cases)
  func check(_ example: Case) {
    let position = InputPosition(
      nextOffset: example.nextOffset, last: example.last, consumedSequence: 0,
      consumedWatermark: Timestamp(milliseconds: 0))
    let found: Expected =
      switch TopicIdentity.check(position, against: example.probe) {
      case .same: .same
      case .gap(let range): .gap(range)
      case .replaced(let why):
        why.isEmpty ? .same : .replaced
      }
    #expect(found == example.expected)
  }
}
