extension Schema {
  /// Swift code that gives `MessageShape.all` its content.
  func swiftCode() throws -> String {
    var code = "// Made from the schema's files at each build.\nprivate enum Embedded {\n"
    for (name, values) in enums.sorted(by: { $0.key < $1.key }) {
      code += "  static let \(Schema.identifier(name)): [(name: String, number: Int64)] = [\n"
      for value in values { code += "    (\"\(value.name)\", \(value.number)),\n" }
      code += "  ]\n"
    }
    for (name, fields) in messages.sorted(by: { $0.key < $1.key }) {
      code += "  static let \(Schema.identifier(name)): [MessageShape.Field] = [\n"
      for field in fields { code += "    \(try swiftCode(field, of: name)),\n" }
      code += "  ]\n"
    }
    code += "}\n\nextension MessageShape {\n  /// Every message of the schema by its full name.\n"
    code += "  static let all: [String: MessageShape] = [\n"
    for name in messages.keys.sorted() {
      code += "    \"\(name)\": MessageShape(fields: Embedded.\(Schema.identifier(name))),\n"
    }
    code +=
      "  ]\n  /// What the files say of messages, fields and oneofs, by full name; of values with the fields that have them.\n"
    code += "  static let comments: [String: String] = [\n"
    for (name, fields) in messages.sorted(by: { $0.key < $1.key }) {
      if let comment = comments[name] { code += Schema.entry(name, comment) }
      for field in fields {
        let texts = [comments["\(name).\(field.name)"]].compactMap { $0 } + valueComments(field, of: name)
        if !texts.isEmpty { code += Schema.entry("\(name).\(field.name)", texts.joined(separator: " ")) }
      }
    }
    return code + "  ]\n}\n"
  }

  private func valueComments(_ field: Field, of message: String) -> [String] {
    guard let name = resolve(field.type, within: message), let values = enums[name] else { return [] }
    return values.compactMap { value in comments["\(name).\(value.name)"].map { "\(value.name): \($0)" } }
  }

  private static func entry(_ name: String, _ comment: String) -> String {
    let escaped = comment.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    return "    \"\(name)\": \"\(escaped)\",\n"
  }

  private func swiftCode(_ field: Field, of message: String) throws -> String {
    let oneof = field.oneof.map(String.init) ?? "nil"
    return "MessageShape.Field(number: \(field.number), name: \"\(field.name)\", "
      + "jsonName: \"\(Schema.camelCase(field.name))\", kind: \(try kind(field, of: message)), "
      + "isRepeated: \(field.isRepeated), oneof: \(oneof))"
  }

  /// The case of `MessageShape.Kind`. Types that it does not have, such as floating point, are refused.
  private func kind(_ field: Field, of message: String) throws -> String {
    let scalars = [
      "bool", "int32", "uint32", "sint32", "int64", "uint64", "sint64", "fixed64", "string", "bytes",
    ]
    if scalars.contains(field.type) { return ".\(field.type)" }
    guard let name = resolve(field.type, within: message) else {
      throw SchemaProblem(place: field.place, text: "there is no type \(field.type)")
    }
    return enums[name] == nil ? ".message(\"\(name)\")" : ".choice(Embedded.\(Schema.identifier(name)))"
  }

  private static func identifier(_ name: String) -> String {
    String(name.map { $0 == "." ? "_" : $0 })
  }

  /// protobuf's rule for the name in JSON: each underscore goes, and the letter after it becomes upper case.
  private static func camelCase(_ name: String) -> String {
    var result = ""
    var isUpper = false
    for character in name {
      if character == "_" {
        isUpper = true
      } else {
        result += isUpper ? character.uppercased() : String(character)
        isUpper = false
      }
    }
    return result
  }
}
