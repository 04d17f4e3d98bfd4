import AdCore
import Testing

@testable import Pipeline

@Suite("Whether a position still belongs to its log")
struct LogIdentityTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var nextOffset: Int64 = 10
    var last: RecordIdentity? = LogIdentityTests.read
    let probe: LogProbe
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
      testDescription: "the record is there", probe: LogProbe(firstOffset: 0, endOffset: 10, record: read),
      expected: .same),
    Case(
      testDescription: "the log has grown", probe: LogProbe(firstOffset: 3, endOffset: 90, record: read),
      expected: .same),
    Case(
      testDescription: "the record's content differs",
      probe: LogProbe(firstOffset: 0, endOffset: 10, record: other(hash: 78)), expected: .replaced),
    Case(
      testDescription: "the record's timestamp differs",
      probe: LogProbe(firstOffset: 0, endOffset: 10, record: other(timestamp: 501)), expected: .replaced),
    Case(
      testDescription: "another offset was found",
      probe: LogProbe(firstOffset: 0, endOffset: 12, record: other(offset: 8)), expected: .replaced),
    Case(
      testDescription: "the log ends before the position", probe: LogProbe(firstOffset: 0, endOffset: 9, record: nil),
      expected: .replaced),
    Case(
      testDescription: "the log is empty", probe: LogProbe(firstOffset: 0, endOffset: 0, record: nil),
      expected: .replaced),
    Case(
      testDescription: "nothing lies where a record was read",
      probe: LogProbe(firstOffset: 0, endOffset: 12, record: nil), expected: .replaced),
    Case(
      testDescription: "the last record was removed by retention, nothing unread with it",
      probe: LogProbe(firstOffset: 10, endOffset: 12, record: nil), expected: .same),
    Case(
      testDescription: "retention removed what was not read",
      probe: LogProbe(firstOffset: 15, endOffset: 20, record: nil), expected: .gap(10..<15)),
    Case(
      testDescription: "a hole behind the last record", nextOffset: 12,
      probe: LogProbe(firstOffset: 0, endOffset: 12, record: read), expected: .same),
    Case(
      testDescription: "no record was ever read", nextOffset: 4, last: nil,
      probe: LogProbe(firstOffset: 0, endOffset: 4, record: nil), expected: .same),
    Case(
      testDescription: "no record was ever read, and retention passed the position", nextOffset: 4, last: nil,
      probe: LogProbe(firstOffset: 6, endOffset: 6, record: nil), expected: .gap(4..<6)),
  ]

  @Test("The last record read decides", arguments: cases)
  func check(_ example: Case) {
    let position = InputPosition(
      nextOffset: example.nextOffset, last: example.last, takenSequence: 0, takenWatermark: Timestamp(milliseconds: 0))
    let found: Expected =
      switch LogIdentity.check(position, against: example.probe) {
      case .same: .same
      case .gap(let range): .gap(range)
      case .replaced(let why):
        why.isEmpty ? .same : .replaced
      }
    #expect(found == example.expected)
  }
}
