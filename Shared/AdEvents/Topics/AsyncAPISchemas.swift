/// The messages as JSON Schema, in protobuf's JSON mapping, made from the schema's files, with their comments.
enum AsyncAPISchemas {
  /// Every message, in the order of their names.
  static var all: [(key: String, value: YAML)] {
    MessageShape.all.sorted { $0.key < $1.key }.map { (shortName($0.key), schema($0.value, shortName($0.key))) }
  }

  /// The name without the package.
  static func shortName(_ name: String) -> String {
    let package = "handbill.v1."
    return name.hasPrefix(package) ? String(name.dropFirst(package.count)) : name
  }

  private static func schema(_ shape: MessageShape, _ name: String) -> YAML {
    let properties = shape.fields.map { field -> (key: String, value: YAML) in
      (field.jsonName, property(field, in: name).adding(description(comment(name, field.name))))
    }
    var members: [(key: String, value: YAML)] = [("type", .text("object")), ("properties", .map(properties))]
    let required = FieldRules.required(of: name)
    if !required.isEmpty { members.append(("required", .list(required.map(YAML.text)))) }
    members += FieldRules.members(of: name)
    let oneofs = Dictionary(grouping: shape.fields.filter { $0.oneof != nil }) { $0.oneof }
    let choices = oneofs.values.filter { $0.count > 1 }.map { $0.map(\.jsonName).joined(separator: ", ") }.sorted()
    let texts = [comment(name), choices.isEmpty ? "" : "Only one of: " + choices.joined(separator: "; only one of: ")]
    return .map(members + description(texts.filter { !$0.isEmpty }.joined(separator: " ")))
  }

  /// What the schema's file says of a message, or of a field of it; empty for nothing.
  static func comment(_ message: String, _ field: String? = nil) -> String {
    MessageShape.comments["handbill.v1.\(message)" + (field.map { ".\($0)" } ?? "")] ?? ""
  }

  private static func description(_ text: String) -> FieldRules.Members {
    text.isEmpty ? [] : [("description", .text(text))]
  }

  private static func property(_ field: MessageShape.Field, in message: String) -> YAML {
    var value = schema(field.kind)
    if case .choice(let names) = field.kind {
      value = choice(FieldRules.names(names.map(\.name), of: field.jsonName, in: message))
    }
    value = value.adding(FieldRules.value(of: field.jsonName, in: message))
    if field.isRepeated {
      return .map([("type", .text("array")), ("items", value)]).adding(FieldRules.list(of: field.jsonName, in: message))
    }
    // Nothing may stand beside a reference.
    if case .message = field.kind { return .map([("allOf", .list([value]))]) }
    return value
  }

  private static func schema(_ kind: MessageShape.Kind) -> YAML {
    switch kind {
    case .bool: .map([("type", .text("boolean"))])
    case .int32, .sint32: .map([("type", .text("integer")), ("format", .text("int32"))])
    case .uint32: .map([("type", .text("integer")), ("format", .text("uint32"))])
    case .int64, .sint64: integer64("int64")
    case .uint64, .fixed64: integer64("uint64")
    case .string: .map([("type", .text("string"))])
    case .bytes: .map([("type", .text("string")), ("contentEncoding", .text("base64"))])
    case .choice(let names): choice(names.map(\.name))
    case .message(let name): .reference("components/schemas/\(shortName(name))")
    }
  }

  private static func choice(_ names: [String]) -> YAML {
    .map([("type", .text("string")), ("enum", .list(names.map { .text($0) }))])
  }

  /// 64-bit integers are strings in protobuf's JSON; numbers are taken as well.
  private static func integer64(_ format: String) -> YAML {
    .map([("type", .list([.text("string"), .text("integer")])), ("format", .text(format))])
  }
}
