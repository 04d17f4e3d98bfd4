internal import Runtime

extension JSONValue {
  /// The JSON text without spaces.
  package var compactText: String {
    var output = ""
    write(to: &output, indent: nil)
    return output
  }

  /// The JSON text for people: two spaces per level, one member a line.
  package var prettyText: String {
    var output = ""
    write(to: &output, indent: 0)
    return output
  }

  private func write(to output: inout String, indent: Int?) {
    switch self {
    case .null, .otherNumber: output += "null"
    case .flag(let flag): output += flag ? "true" : "false"
    case .integer(let integer): output += String(integer)
    case .text(let text): JSONValue.quote(text, to: &output)
    case .list(let list):
      JSONValue.group("[", "]", list, to: &output, indent: indent) { $0.write(to: &$1, indent: $2) }
    case .object(let members):
      JSONValue.group("{", "}", members, to: &output, indent: indent) { member, output, indent in
        JSONValue.quote(member.name, to: &output)
        output += indent == nil ? ":" : ": "
        member.value.write(to: &output, indent: indent)
      }
    }
  }

  private static func group<Item>(
    _ open: String, _ close: String, _ items: [Item], to output: inout String, indent: Int?,
    _ write: (Item, inout String, Int?) -> Void
  ) {
    output += open
    for (index, item) in items.enumerated() {
      if index > 0 { output += "," }
      if let indent { output += "\n" + String(repeating: "  ", count: indent + 1) }
      write(item, &output, indent.map { $0 + 1 })
    }
    if let indent, !items.isEmpty { output += "\n" + String(repeating: "  ", count: indent) }
    output += close
  }

  /// What turns a terminal's direction of writing around is escaped, too; nothing is cut.
  private static func quote(_ text: String, to output: inout String) {
    TextSafety.appendJSON(text, to: &output, bytesMaximum: .max)
  }
}
