import AdCore
import FuzzTargets
import Testing

@testable import AdEvents

@Suite("Whatever arrives ends in one numbered reason")
struct GarbageTests {
  /// What a rejection of a message may be: all that decoding alone can say.
  private func check(_ outcome: Result<[UInt8], Rejection>, _ message: AnyMessage) -> RejectionReason? {
    guard case .failure(let rejection) = outcome else { return nil }
    let decodingReasons = RejectionReason.nullValue.rawValue...RejectionReason.unknownType.rawValue
    let isDecoding = decodingReasons.contains(rejection.reason.rawValue) || rejection.reason == .invalidReply
    #expect(message.isWrittenByClients ? isDecoding : rejection.reason == .invalidInternal)
    #expect(!rejection.detail.isEmpty)
    return rejection.reason
  }

  private func expect(
    _ message: AnyMessage, _ bytes: [UInt8]?, _ reason: RejectionReason, _ headers: RecordHeaders? = nil
  ) {
    let outcome = message.reencode(bytes, headers ?? properHeaders(message.eventTypes[0]))
    #expect(check(outcome, message) == (message.isWrittenByClients ? reason : .invalidInternal))
  }

  @Test("null, empty and too much", arguments: AnyMessage.all)
  func sizes(_ message: AnyMessage) {
    expect(message, nil, .nullValue)
    expect(message, [], .emptyValue)
    expect(message, [UInt8](repeating: 0, count: message.valueBytesMaximum + 1), .tooLarge)
    expect(message, [UInt8](repeating: 0, count: 1 << 20), .tooLarge)
  }

  @Test(
    "bytes that are no protobuf",
    arguments: [
      // A tag's field number 0; wire types 6 and 7; a group's end without its beginning.
      [0x00], [0x06], [0x0F], [0x0C],
      // A length beyond the end, one of 2^63, and one of 2^64 - 1.
      [0xA2, 0x06, 0x05, 0x01], [0xA2, 0x06] + [UInt8](repeating: 0x80, count: 9) + [0x01],
      [0xA2, 0x06] + [UInt8](repeating: 0xFF, count: 9) + [0x01],
      // Varints: one that does not end, one of 11 bytes, one of more than 64 bits; a tag of more than 32 bits.
      [0xA0, 0x06, 0x80], [0xA0, 0x06] + [UInt8](repeating: 0x80, count: 10) + [0x00],
      [0xA0, 0x06] + [UInt8](repeating: 0xFF, count: 9) + [0x02], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x00],
      // Fixed numbers that are cut off; a group that does not end, and one that ends as another.
      [0xA1, 0x06, 1, 2, 3], [0xA5, 0x06, 1], [0xA3, 0x06], [0xA3, 0x06, 0xAC, 0x06],
      // Groups in groups, 5,000 deep.
      [UInt8](repeating: 0x7B, count: 5_000),
    ] as [[UInt8]])
  func malformed(_ bytes: [UInt8]) {
    for message in AnyMessage.all { expect(message, bytes, .malformed) }
  }

  @Test("a message cut off after any byte never comes out as the whole one", arguments: AnyMessage.all)
  func truncated(_ message: AnyMessage) {
    for seed in UInt64(0)..<4 {
      let (type, bytes) = message.sample(seed)
      for count in 0..<bytes.count {
        let outcome = message.reencode(Array(bytes[0..<count]), properHeaders(type))
        if check(outcome, message) == nil { #expect(outcome != .success(bytes)) }
      }
    }
  }

  @Test("each field with every other wire type is malformed", arguments: AnyMessage.all)
  func wrongWireTypes(_ message: AnyMessage) throws {
    let shape = try #require(MessageShape.all[message.schemaName])
    for field in shape.fields {
      for type in WireReader.WireType.allWritten where !field.isWritten(as: type) {
        var writer = WireWriter()
        writer.varint(UInt64(field.number) << 3 | UInt64(type.rawValue))
        writer.output += [UInt8](repeating: 0, count: type == .fixed64 ? 8 : type == .fixed32 ? 4 : 1)
        expect(message, writer.output, .malformed)
      }
    }
  }

  @Test("100,000 values of random bytes, and of valid ones with bytes changed", arguments: AnyMessage.all)
  func random(_ message: AnyMessage) {
    var maker = SampleMaker(seed: 42)
    let samples = (UInt64(0)..<16).map { message.sample($0) }
    for round in 0..<10_000 {
      var (type, bytes) = samples[round % samples.count]
      if round % 3 == 0 {
        bytes = maker.bytes(1...64)
      } else {
        for _ in 0..<maker.number(1...4) {
          bytes[Int(maker.number(0...Int64(bytes.count - 1)))] = UInt8(truncatingIfNeeded: maker.word())
        }
      }
      // What is taken must itself be a value that survives its own encoding.
      if case .success(let again) = message.reencode(bytes, properHeaders(type)) {
        #expect(message.reencode(again, properHeaders(type)) == .success(again))
      }
    }
  }

  @Test("text that is not UTF-8, or holds a NUL, is invalidText")
  func text() {
    for bad in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0x61, 0x00]] as [[UInt8]] {
      var writer = WireWriter()
      writer.bytes(2, bad)
      expect(AnyMessage { $0.request() }, writer.output, .invalidText)
    }
  }

  @Test("ids, enums and lengths outside their rules are invalidField; what is needed and absent is missingField")
  func ranges() {
    let request = AnyMessage { $0.request() }
    let click = AnyMessage { $0.click() }
    func bytes(_ write: (inout WireWriter) -> Void) -> [UInt8] {
      var writer = WireWriter()
      write(&writer)
      return writer.output
    }
    expect(request, bytes { $0.text(3, "No Slug") }, .invalidField)
    expect(request, bytes { $0.bytes(1, [UInt8](repeating: 0, count: 16)) }, .invalidField)
    expect(request, bytes { $0.bytes(1, [1, 2, 3]) }, .invalidField)
    expect(request, bytes { $0.text(7, "jp") }, .invalidField)
    expect(request, bytes { $0.unsigned(8, 3) }, .invalidField)
    expect(request, bytes { $0.unsigned(12, 60_001) }, .invalidField)
    expect(request, bytes { $0.text(2, String(repeating: "k", count: 129)) }, .invalidField)
    expect(request, bytes { writer in for _ in 0..<17 { writer.text(9, "portrait") } }, .invalidField)
    expect(request, bytes { $0.bool(11, true) }, .missingField)
    expect(click, bytes { $0.unsigned(1, 9) }, .invalidField)
    expect(click, bytes { $0.unsigned(1, 1) }, .missingField)
    expect(click, bytes { $0.unsigned(1, UInt64.max) }, .invalidField)
    expect(click, bytes { $0.unsigned(3, UInt64.max) }, .invalidField)
    expect(click, bytes { $0.bytes(2, [UInt8](repeating: 1, count: 1_025)) }, .invalidField)
  }
}

extension WireReader.WireType {
  fileprivate static let allWritten: [WireReader.WireType] = [.varint, .fixed64, .bytes, .groupStart, .fixed32]
}

extension MessageShape.Field {
  fileprivate func isWritten(as type: WireReader.WireType) -> Bool {
    switch kind {
    case .string, .bytes, .message: type == .bytes
    case .fixed64: type == .fixed64
    default: type == .varint || isRepeated && type == .bytes
    }
  }
}
