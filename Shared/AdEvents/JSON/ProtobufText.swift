internal import AdCore
internal import Crypto

/// The other direction of the JSON mapping, for people: what a message says, as JSON.
extension ProtobufJSON {
  /// The message in JSON, as protobuf writes it: lowerCamelCase, 64-bit integers as strings, enums by name, defaults
  /// left out. Unknown fields do not show.
  package static func json(
    fromProtobuf bytes: UnsafeRawBufferPointer, schemaName: String
  ) -> Result<String, Rejection> {
    do throws(Rejection) {
      return .success(try object(bytes, schemaName, depth: 0))
    } catch {
      return .failure(error)
    }
  }

  private static func object(
    _ bytes: UnsafeRawBufferPointer, _ schemaName: String, depth: Int
  ) throws(Rejection) -> String {
    guard let shape = MessageShape.all[schemaName] else {
      throw Rejection(.unknownType, "the schema has no message \(schemaName)")
    }
    guard depth <= FieldLimits.depthMaximum else { throw Rejection(.malformed, "messages nest too deeply") }
    var values: [UInt32: [String]] = [:]
    var reader = WireReader(bytes)
    while try reader.next() {
      guard let field = shape.fields.first(where: { $0.number == reader.field }) else {
        try reader.skip()
        continue
      }
      let read = try Self.values(field, &reader, depth: depth)
      // Of a oneof the last one counts; of a plain field the last value.
      for other in shape.fields where field.oneof != nil && other.oneof == field.oneof { values[other.number] = nil }
      if field.isRepeated { values[field.number, default: []] += read } else { values[field.number] = read }
    }
    return "{" + shape.fields.compactMap { member($0, values[$0.number]) }.joined(separator: ",") + "}"
  }

  private static func member(_ field: MessageShape.Field, _ values: [String]?) -> String? {
    guard let values, let last = values.last else { return nil }
    return quoted(field.jsonName) + ":" + (field.isRepeated ? "[" + values.joined(separator: ",") + "]" : last)
  }

  /// The values of the current field: several where they are packed.
  private static func values(
    _ field: MessageShape.Field, _ reader: inout WireReader, depth: Int
  ) throws(Rejection) -> [String] {
    switch field.kind {
    case .message(let name): return [try object(try reader.bytes(), name, depth: depth + 1)]
    case .string:
      guard let text = String(validating: try reader.bytes(), as: UTF8.self) else {
        throw Rejection(.invalidText, "\(field.name) is not UTF-8")
      }
      return [quoted(text)]
    case .bytes: return [quoted(Base64.encode(Array(try reader.bytes())))]
    case .fixed64: return [quoted(String(try reader.fixed64()))]
    default: break
    }
    guard field.isRepeated, reader.wireType == .bytes else { return [text(field.kind, try reader.unsigned())] }
    var packed = WireReader(try reader.bytes())
    var values: [String] = []
    while let number = try packed.packedVarint() { values.append(text(field.kind, number)) }
    return values
  }

  /// A varint as JSON has it.
  private static func text(_ kind: MessageShape.Kind, _ number: UInt64) -> String {
    let zigzag = Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    return switch kind {
    case .bool: number == 0 ? "false" : "true"
    case .int32: String(Int32(truncatingIfNeeded: number))
    case .uint32: String(UInt32(truncatingIfNeeded: number))
    case .sint32: String(Int32(truncatingIfNeeded: zigzag))
    case .int64: quoted(String(Int64(bitPattern: number)))
    case .sint64: quoted(String(zigzag))
    case .choice(let names):
      names.first { $0.number == Int64(Int32(truncatingIfNeeded: number)) }.map { quoted($0.name) }
        ?? String(Int32(truncatingIfNeeded: number))
    case .uint64, .fixed64, .string, .bytes, .message: quoted(String(number))
    }
  }

  /// A JSON string.
  static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case "\u{0}"..."\u{1F}", "\u{7F}", "\u{2028}", "\u{2029}":
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

extension EventMessage {
  /// What the value says, as JSON, for people.
  package func json() -> Result<String, Rejection> {
    encoded().withUnsafeBytes { ProtobufJSON.json(fromProtobuf: $0, schemaName: Self.schemaName) }
  }
}
