internal import AdBasics
internal import JSON

/// protobuf's JSON mapping, written once for every message, driven by the schema's descriptors. JSON becomes the
/// protobuf form, and that goes through the one decoder there is: so both forms are held to the same rules.
package enum ProtobufJSON {
  /// A message's JSON text, read; whatever is wrong with it is one rejection.
  static func value(_ json: UnsafeRawBufferPointer) throws(Rejection) -> JSONValue {
    do throws(JSONError) { return try JSONValue.parse(json) } catch {
      throw Rejection(error.isBrokenText ? .invalidText : .malformed, error.problem)
    }
  }

  /// The protobuf form of a message in JSON: of all fields that can be read, the others are mistakes. Keys may be
  /// lowerCamelCase or the schema's own; integers numbers or strings; enums names or numbers; bytes base64 in either
  /// alphabet; null is the default; unknown keys are ignored.
  static func protobuf(from value: JSONValue, schemaName: String, _ mistakes: inout Mistakes) -> [UInt8] {
    var writer = WireWriter()
    do { try write(value, schemaName, to: &writer, &mistakes) } catch { mistakes.add(error) }
    return writer.output
  }

  private static func write(
    _ value: JSONValue, _ schemaName: String, to writer: inout WireWriter, _ mistakes: inout Mistakes
  ) throws(Rejection) {
    guard let shape = MessageShape.all[schemaName] else {
      throw Rejection(.unknownType, "the schema has no message \(schemaName)")
    }
    guard case .object(let members) = value else {
      throw Rejection(.malformed, "a message in JSON is not an object")
    }
    let byKey = Dictionary(members.map { ($0.name, $0.value) }) { first, _ in first }
    var oneofs: Set<UInt32> = []
    for field in shape.fields {
      var single = WireWriter()
      do throws(Rejection) {
        guard let value = try member(field, byKey) else { continue }
        if let oneof = field.oneof, !oneofs.insert(oneof).inserted {
          throw Rejection(.malformed, "\(field.name) stands beside another of its oneof")
        }
        try write(value, field, to: &single, &mistakes)
        writer.output += single.output
      } catch { mistakes.add(error) }
    }
  }

  private static func write(
    _ value: JSONValue, _ field: MessageShape.Field, to writer: inout WireWriter, _ mistakes: inout Mistakes
  ) throws(Rejection) {
    guard field.isRepeated else {
      try write(value, field, isPresent: field.oneof != nil, to: &writer, &mistakes)
      return
    }
    guard case .list(let elements) = value else {
      throw Rejection(.malformed, "\(field.name) is not a list")
    }
    for element in elements {
      do throws(Rejection) { try write(element, field, isPresent: true, to: &writer, &mistakes) } catch {
        throw Rejection(error.reason, "an entry of \(error.sentence)")
      }
    }
  }

  /// The member of a field under either of its names; nil for null.
  private static func member(
    _ field: MessageShape.Field, _ byKey: [String: JSONValue]
  ) throws(Rejection) -> JSONValue? {
    let camel = byKey[field.jsonName]
    let original = field.name == field.jsonName ? nil : byKey[field.name]
    if camel != nil, original != nil { throw Rejection(.malformed, "\(field.name) stands twice") }
    guard let value = camel ?? original else { return nil }
    if case .null = value { return nil }
    return value
  }

  private static func write(
    _ value: JSONValue, _ field: MessageShape.Field, isPresent: Bool, to writer: inout WireWriter,
    _ mistakes: inout Mistakes
  ) throws(Rejection) {
    switch field.kind {
    case .message(let name):
      guard case .object = value else { throw Rejection(.malformed, "\(field.name) is not an object") }
      var inner = WireWriter()
      var within = Mistakes()
      try write(value, name, to: &inner, &within)
      mistakes.add(within, in: field.name)
      writer.presentBytes(field.number, inner.output)
    case .string, .bytes:
      guard case .text(let text) = value else { throw Rejection(.malformed, "\(field.name) is not a string") }
      var content = Array(text.utf8)
      if case .bytes = field.kind {
        guard let decoded = base64(text) else { throw Rejection(.malformed, "\(field.name) is not base64") }
        content = decoded
      }
      if isPresent || !content.isEmpty { writer.presentBytes(field.number, content) }
    case .fixed64:
      let number = try integer(value, field, in: 0...Int128(UInt64.max))
      writer.fixed64(field.number, UInt64(number), isPresent: isPresent)
    default:
      let number = try varint(value, field)
      if isPresent || number != 0 { writer.presentUnsigned(field.number, number) }
    }
  }

  private static func varint(_ value: JSONValue, _ field: MessageShape.Field) throws(Rejection) -> UInt64 {
    switch field.kind {
    case .bool:
      guard case .flag(let flag) = value else { throw Rejection(.malformed, "\(field.name) is not true or false") }
      return flag ? 1 : 0
    case .int32: return try signed(value, field, Int128(Int32.min)...Int128(Int32.max))
    case .int64: return try signed(value, field, Int128(Int64.min)...Int128(Int64.max))
    case .uint32: return try signed(value, field, 0...Int128(UInt32.max))
    case .uint64: return try signed(value, field, 0...Int128(UInt64.max))
    case .sint32: return zigzag(try integer(value, field, in: Int128(Int32.min)...Int128(Int32.max)))
    case .sint64: return zigzag(try integer(value, field, in: Int128(Int64.min)...Int128(Int64.max)))
    case .choice(let names):
      if case .text(let name) = value {
        // By their bytes: how a stranger's text looks may take long to find out.
        guard let choice = names.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) else {
          // The first stands for a field that is not there.
          let permitted = names.filter { $0.number != 0 }.map(\.name).joined(separator: ", ")
          throw Rejection(.invalidField, "\(field.name) has an unknown name: give one of \(permitted)")
        }
        return UInt64(truncatingIfNeeded: choice.number)
      }
      return try signed(value, field, Int128(Int32.min)...Int128(Int32.max))
    case .fixed64, .string, .bytes, .message: throw Rejection(.malformed, "\(field.name) is no number")
    }
  }

  private static func signed(
    _ value: JSONValue, _ field: MessageShape.Field, _ range: ClosedRange<Int128>
  ) throws(Rejection) -> UInt64 {
    UInt64(truncatingIfNeeded: try integer(value, field, in: range))
  }

  private static func zigzag(_ value: Int128) -> UInt64 {
    let small = Int64(truncatingIfNeeded: value)
    return UInt64(bitPattern: small << 1 ^ small >> 63)
  }

  /// An exact integer from a number or a string.
  private static func integer(
    _ value: JSONValue, _ field: MessageShape.Field, in range: ClosedRange<Int128>
  ) throws(Rejection) -> Int128 {
    let text: String
    switch value {
    case .number(let number): text = number
    case .text(let string): text = string
    default: throw Rejection(.malformed, "\(field.name) is no number")
    }
    guard let number = ExactInteger.parse(text) else { throw Rejection(.malformed, "\(field.name) is no integer") }
    guard range.contains(number) else { throw Rejection(.invalidField, "\(field.name) is out of range") }
    return number
  }

  /// Base64 in the standard or the URL alphabet, padded or not.
  static func base64(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count * 3 / 4)
    var pending: UInt32 = 0
    var bits: UInt32 = 0
    var rest = text.utf8[...]
    for _ in 0..<2 where rest.last == UInt8(ascii: "=") { rest = rest.dropLast() }
    // One digit cannot make a byte.
    guard rest.count % 4 != 1, rest.count == text.utf8.count || text.utf8.count % 4 == 0 else { return nil }
    for byte in rest {
      guard let digit = base64Digit(byte) else { return nil }
      pending = pending << 6 | digit
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> bits))
      }
    }
    return bytes
  }

  private static func base64Digit(_ byte: UInt8) -> UInt32? {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(byte - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(byte - UInt8(ascii: "a") + 26)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0") + 52)
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
