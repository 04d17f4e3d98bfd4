/// The messages as JSON Schema, in protobuf's JSON mapping, made from the schema's descriptors.
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
      let value = schema(field.kind).adding(FieldRules.value(of: field.jsonName, in: name))
      guard field.isRepeated else { return (field.jsonName, value) }
      let list = YAML.map([("type", .text("array")), ("items", value)])
      return (field.jsonName, list.adding(FieldRules.list(of: field.jsonName, in: name)))
    }
    var members: [(key: String, value: YAML)] = [("type", .text("object")), ("properties", .map(properties))]
    let required = FieldRules.required(of: name)
    if !required.isEmpty { members.append(("required", .list(required.map(YAML.text)))) }
    let oneofs = Dictionary(grouping: shape.fields.filter { $0.oneof != nil }) { $0.oneof }
    let choices = oneofs.values.filter { $0.count > 1 }.map { $0.map(\.jsonName).joined(separator: ", ") }.sorted()
    if !choices.isEmpty {
      members.append(("description", .text("Only one of: " + choices.joined(separator: "; only one of: "))))
    }
    return .map(members)
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
    case .choice(let names):
      .map([("type", .text("string")), ("enum", .list(names.map { .text($0.name) }))])
    case .message(let name): .reference("components/schemas/\(shortName(name))")
    }
  }

  /// 64-bit integers are strings in protobuf's JSON; numbers are taken as well.
  private static func integer64(_ format: String) -> YAML {
    .map([("type", .list([.text("string"), .text("integer")])), ("format", .text(format))])
  }
}
