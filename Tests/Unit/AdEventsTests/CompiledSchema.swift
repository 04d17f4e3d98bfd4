import Foundation

@testable import AdEvents

/// What Google's compiler says about the schema's fields, read from its descriptor set, and the same of our own table:
/// a line for each field, with its number, its names, its type, and the names and numbers that an enum has.
struct CompiledSchema {
  private(set) var fields: Set<String> = []
  private var enums: [String: String] = [:]
  private var open: [(message: String, field: Field)] = []

  private struct Field {
    var name = ""
    var jsonName = ""
    var number: UInt64 = 0
    var isRepeated = false
    var type: UInt64 = 0
    var typeName = ""
    var oneof: UInt64?
  }

  /// Reads a `google.protobuf.FileDescriptorSet`.
  init(contentsOf path: String) throws {
    let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    try bytes.withUnsafeBytes { set in
      try CompiledSchema.read(set) { number, reader in
        if number == 1 { try addFile(try reader.bytes()) } else { try reader.skip() }
      }
    }
    fields = Set(open.map { "\($0.message) \(CompiledSchema.line($0.field, enums))" })
  }

  /// Our own table in the same words.
  static var embedded: Set<String> {
    Set(
      MessageShape.all.flatMap { name, shape in
        shape.fields.map { field in
          let oneof = field.oneof.map { "\($0)" } ?? "none"
          return "\(name) \(field.number) \(field.name) \(field.jsonName) \(text(field.kind)) "
            + "repeated: \(field.isRepeated) oneof: \(oneof)"
        }
      })
  }

  private static func text(_ kind: MessageShape.Kind) -> String {
    switch kind {
    case .choice(let names): names.map { "\($0.name)=\($0.number)" }.joined(separator: ",")
    case .message(let name): name
    default: "\(kind)"
    }
  }

  private static let scalars: [UInt64: String] = [
    3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 8: "bool", 9: "string", 12: "bytes", 13: "uint32",
    17: "sint32", 18: "sint64",
  ]

  private static func line(_ field: Field, _ enums: [String: String]) -> String {
    let typeName = String(field.typeName.dropFirst())
    let type = scalars[field.type] ?? (field.type == 14 ? enums[typeName] ?? "an unknown enum" : typeName)
    let oneof = field.oneof.map { "\($0)" } ?? "none"
    return "\(field.number) \(field.name) \(field.jsonName) \(type) repeated: \(field.isRepeated) oneof: \(oneof)"
  }

  private static func read(
    _ bytes: UnsafeRawBufferPointer, _ take: (UInt32, inout WireReader) throws -> Void
  ) throws {
    var reader = WireReader(bytes)
    while try reader.next() { try take(reader.field, &reader) }
  }

  private static func text(_ reader: inout WireReader) throws -> String {
    String(decoding: try reader.bytes(), as: UTF8.self)
  }

  private mutating func addFile(_ bytes: UnsafeRawBufferPointer) throws {
    var package = ""
    try CompiledSchema.read(bytes) { number, reader in
      switch number {
      case 2: package = try CompiledSchema.text(&reader)
      case 4: try addMessage(try reader.bytes(), within: package)
      case 5: try addEnum(try reader.bytes(), within: package)
      default: try reader.skip()
      }
    }
  }

  private mutating func addMessage(_ bytes: UnsafeRawBufferPointer, within scope: String) throws {
    var name = scope
    try CompiledSchema.read(bytes) { number, reader in
      switch number {
      case 1: name += "." + (try CompiledSchema.text(&reader))
      case 2: open.append((name, try CompiledSchema.field(try reader.bytes())))
      case 3: try addMessage(try reader.bytes(), within: name)
      case 4: try addEnum(try reader.bytes(), within: name)
      default: try reader.skip()
      }
    }
  }

  private static func field(_ bytes: UnsafeRawBufferPointer) throws -> Field {
    var field = Field()
    try read(bytes) { number, reader in
      switch number {
      case 1: field.name = try text(&reader)
      case 3: field.number = try reader.unsigned()
      case 4: field.isRepeated = try reader.unsigned() == 3
      case 5: field.type = try reader.unsigned()
      case 6: field.typeName = try text(&reader)
      case 9: field.oneof = try reader.unsigned()
      case 10: field.jsonName = try text(&reader)
      default: try reader.skip()
      }
    }
    return field
  }

  private mutating func addEnum(_ bytes: UnsafeRawBufferPointer, within scope: String) throws {
    var name = scope
    var values: [String] = []
    try CompiledSchema.read(bytes) { number, reader in
      switch number {
      case 1: name += "." + (try CompiledSchema.text(&reader))
      case 2: values.append(try CompiledSchema.value(try reader.bytes()))
      default: try reader.skip()
      }
    }
    enums[name] = values.joined(separator: ",")
  }

  private static func value(_ bytes: UnsafeRawBufferPointer) throws -> String {
    var name = ""
    var value: UInt64 = 0
    try read(bytes) { number, reader in
      switch number {
      case 1: name = try text(&reader)
      case 2: value = try reader.unsigned()
      default: try reader.skip()
      }
    }
    return "\(name)=\(value)"
  }
}
