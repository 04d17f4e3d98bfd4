internal import AdBasics
internal import Hashes
package import JSON

/// The other direction of the JSON mapping, for people: what a message says, as JSON.
extension ProtobufJSON {
  /// The message in JSON, as protobuf writes it: lowerCamelCase, 64-bit integers as strings, enums by name, defaults
  /// left out. Unknown fields do not show.
  package static func json(
    fromProtobuf bytes: UnsafeRawBufferPointer, schemaName: String
  ) -> Result<JSONValue, Rejection> {
    do throws(Rejection) {
      return .success(try object(bytes, schemaName, depth: 0))
    } catch {
      return .failure(error)
    }
  }

  private static func object(
    _ bytes: UnsafeRawBufferPointer, _ schemaName: String, depth: Int
  ) throws(Rejection) -> JSONValue {
    guard let shape = MessageShape.all[schemaName] else {
      throw Rejection(.unknownType, "the schema has no message \(schemaName)")
    }
    guard depth <= FieldLimits.depthMaximum else { throw Rejection(.malformed, "messages nest too deeply") }
    var values: [UInt32: [JSONValue]] = [:]
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
    return .object(shape.fields.compactMap { member($0, values[$0.number]) })
  }

  private static func member(_ field: MessageShape.Field, _ values: [JSONValue]?) -> JSONValue.Member? {
    guard let values, let last = values.last else { return nil }
    return JSONValue.Member(field.jsonName, field.isRepeated ? .list(values) : last)
  }

  /// The values of the current field: several where they are packed.
  private static func values(
    _ field: MessageShape.Field, _ reader: inout WireReader, depth: Int
  ) throws(Rejection) -> [JSONValue] {
    switch field.kind {
    case .message(let name): return [try object(try reader.bytes(), name, depth: depth + 1)]
    case .string:
      guard let text = String(validating: try reader.bytes(), as: UTF8.self) else {
        throw Rejection(.invalidText, "\(field.name) is not UTF-8")
      }
      return [.text(text)]
    case .bytes: return [.text(Base64.encode(Array(try reader.bytes())))]
    case .fixed64: return [.text(String(try reader.fixed64()))]
    default: break
    }
    guard field.isRepeated, reader.wireType == .bytes else { return [value(field.kind, try reader.unsigned())] }
    var packed = WireReader(try reader.bytes())
    var values: [JSONValue] = []
    while let number = try packed.packedVarint() { values.append(value(field.kind, number)) }
    return values
  }

  /// A varint as JSON has it.
  private static func value(_ kind: MessageShape.Kind, _ number: UInt64) -> JSONValue {
    let zigzag = Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
    return switch kind {
    case .bool: .flag(number != 0)
    case .int32: .integer(Int32(truncatingIfNeeded: number))
    case .uint32: .integer(UInt32(truncatingIfNeeded: number))
    case .sint32: .integer(Int32(truncatingIfNeeded: zigzag))
    case .int64: .text(String(Int64(bitPattern: number)))
    case .sint64: .text(String(zigzag))
    case .choice(let names):
      names.first { $0.number == Int64(Int32(truncatingIfNeeded: number)) }.map { .text($0.name) }
        ?? .integer(Int32(truncatingIfNeeded: number))
    case .uint64, .fixed64, .string, .bytes, .message: .text(String(number))
    }
  }
}

extension EventMessage {
  /// What the value says, as JSON, for people.
  package func json() -> Result<JSONValue, Rejection> {
    encoded().withUnsafeBytes { ProtobufJSON.json(fromProtobuf: $0, schemaName: Self.schemaName) }
  }
}
