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
    case .null: output += "null"
    case .flag(let flag): output += flag ? "true" : "false"
    case .number(let number): output += number
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

  private static func quote(_ text: String, to output: inout String) {
    output.append("\"")
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": output.append("\\\"")
      case "\\": output.append("\\\\")
      case "\n": output.append("\\n")
      case "\r": output.append("\\r")
      case "\t": output.append("\\t")
      default:
        if scalar.isUnsafeToShow {
          escape(scalar, to: &output)
        } else {
          output.unicodeScalars.append(scalar)
        }
      }
    }
    output.append("\"")
  }

  /// Digit by digit, since a stranger's text may be of nothing but such scalars.
  private static func escape(_ scalar: Unicode.Scalar, to output: inout String) {
    for unit in scalar.utf16 {
      output += "\\u"
      for shift in stride(from: 12, through: 0, by: -4) {
        let digit = UInt8(truncatingIfNeeded: unit >> UInt16(shift)) & 0xF
        output.unicodeScalars.append(
          Unicode.Scalar(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10))
      }
    }
  }
}

extension Unicode.Scalar {
  /// Controls (C0, DEL, C1), the separators that some readers take for line ends, and invisible marks of format, among
  /// them those that turn the direction of writing around: no line for people shows them as they are.
  package var isUnsafeToShow: Bool {
    if isASCII { return value < 0x20 || value == 0x7F }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }
}
