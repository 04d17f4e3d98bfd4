import AdCore
import Records
import TestValues
import Testing

@testable import Pipeline

@Suite("The original bytes of a batch")
struct RawBytesTests {
  struct Record: Sendable, CustomTestStringConvertible {
    let testDescription: String
    var key: [UInt8]?
    var value: [UInt8]?
    var headers: [RecordHeader] = []
  }

  private static let records = [
    Record(testDescription: "nothing at all"),
    Record(testDescription: "an empty key and a null value", key: []),
    Record(testDescription: "a null key and an empty value", value: []),
    Record(testDescription: "key and value", key: [1, 2], value: [3, 4, 5]),
    Record(
      testDescription: "headers, one with an empty value, one without a name", value: [9],
      headers: [
        RecordHeader("ce_id", [7, 8]), RecordHeader("empty", []), RecordHeader(name: [], value: [0, 0, 0, 0, 1]),
      ]),
    Record(
      testDescription: "only a header, and a long one",
      headers: [RecordHeader(name: Array("long".utf8), value: Array(repeating: 0xFF, count: 70_000))]),
  ]

  private func add(_ record: Record, to bytes: inout RawBytes) -> RawRange {
    func pointer<Result>(_ array: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
      guard let array else { return body(nil) }
      return array.withUnsafeBytes { body($0) }
    }
    pointer(record.key) { key in pointer(record.value) { bytes.begin(key: key, value: $0) } }
    for header in record.headers {
      header.withUnsafeBytes { bytes.addHeader(name: $0, value: $1) }
    }
    return bytes.finish()
  }

  @Test("Each record comes back as it was, absent key and null value included", arguments: records)
  func one(_ record: Record) {
    var bytes = RawBytes()
    let range = add(record, to: &bytes)
    #expect(bytes.key(range) == record.key)
    #expect(bytes.value(range).map(Array.init) == record.value)
    #expect(bytes.headers(range) == record.headers)
  }

  @Test("Records stand one after the other without touching")
  func many() {
    var bytes = RawBytes()
    let ranges = (Self.records + Self.records.reversed()).map { ($0, add($0, to: &bytes)) }
    for (record, range) in ranges {
      #expect(bytes.key(range) == record.key)
      #expect(bytes.value(range).map(Array.init) == record.value)
      #expect(bytes.headers(range) == record.headers)
    }
    #expect(bytes.count > 140_000)
  }

  @Test("What is sent on has a text for its key or none, since readers of CloudEvents take keys as UTF-8")
  func textKey() {
    var bytes = RawBytes()
    let keys: [[UInt8]?] = [nil, [], Array("client-ä".utf8), [0xFF, 1], Array("client".utf8) + [0xC3]]
    let ranges = keys.map { add(Record(testDescription: "", key: $0), to: &bytes) }
    #expect(ranges.map(bytes.textKey) == [nil, [], Array("client-ä".utf8), nil, nil])
  }

  @Test("A header without a value comes back as an empty one")
  func nullHeader() {
    var bytes = RawBytes()
    bytes.begin(key: nil, value: nil)
    [UInt8(ascii: "x")].withUnsafeBytes { bytes.addHeader(name: $0, value: nil) }
    let range = bytes.finish()
    #expect(bytes.headers(range) == [RecordHeader("x", [])])
  }
}

@Suite("The hash that identifies a record's content")
struct ContentHashTests {
  private func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    bytes.withUnsafeBytes { contentHash($0, seed: seed) }
  }

  @Test("Its values are stored with positions, so they never change")
  func fixed() {
    #expect(hash(Array("handbill".utf8)) == 0xCC5B_FF72_E7F3_8436)
    #expect(hash(Array("handbill, seventeen".utf8), seed: 2) == 0xABB1_76A1_3DCB_3840)
  }

  @Test("Every length, every bit and every seed makes another hash", arguments: 0...40)
  func different(count: Int) {
    var random = SeededChance(seed: UInt64(count) + 1)
    let bytes = (0..<count).map { _ in UInt8.random(in: 1...255, using: &random) }
    var seen: Set = [hash(bytes), hash(bytes, seed: 1), hash(bytes + [0]), hash([0] + bytes)]
    for bit in 0..<count * 8 {
      var altered = bytes
      altered[bit / 8] ^= 1 << UInt8(bit % 8)
      seen.insert(hash(altered))
    }
    // A zero before nothing and one behind it are the same.
    #expect(seen.count == count * 8 + (count == 0 ? 3 : 4))
  }

  @Test("It reads wherever the bytes lie")
  func alignment() {
    let bytes = (0..<33 as Range<UInt8>).map { $0 }
    for shift in 0..<8 {
      let moved = Array(repeating: 0, count: shift) + bytes
      #expect(moved.withUnsafeBytes { contentHash(UnsafeRawBufferPointer(rebasing: $0[shift...])) } == hash(bytes))
    }
  }
}
