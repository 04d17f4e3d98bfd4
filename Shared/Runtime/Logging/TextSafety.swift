/// Makes text of strangers harmless for logs and terminals.
package enum TextSafety {
  /// The longest user text in a log line or message, in bytes.
  package static let bytesMaximum = 1_024

  /// One line without anything that a terminal obeys: controls, escapes, line ends and marks of direction are written
  /// as `\u{...}`. Text longer than `bytesMaximum` is cut, with `…` at its end.
  package static func singleLine(_ text: String, bytesMaximum: Int = TextSafety.bytesMaximum) -> String {
    var output = ""
    var bytes = 0
    for scalar in text.unicodeScalars {
      bytes += UTF8.width(scalar)
      guard bytes <= bytesMaximum else { return output + "…" }
      if mustEscape(scalar) {
        output += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        output.unicodeScalars.append(scalar)
      }
    }
    return output
  }

  /// Appends `text` to `output` as a JSON string with its quotes, cut like ``singleLine(_:bytesMaximum:)``.
  package static func appendJSON(_ text: String, to output: inout String, bytesMaximum: Int = TextSafety.bytesMaximum) {
    output.append("\"")
    var bytes = 0
    for scalar in text.unicodeScalars {
      bytes += UTF8.width(scalar)
      guard bytes <= bytesMaximum else {
        output.append("…")
        break
      }
      switch scalar {
      case "\"": output.append("\\\"")
      case "\\": output.append("\\\\")
      case "\n": output.append("\\n")
      case "\r": output.append("\\r")
      case "\t": output.append("\\t")
      default:
        if mustEscape(scalar) {
          appendUTF16Escape(scalar, to: &output)
        } else {
          output.unicodeScalars.append(scalar)
        }
      }
    }
    output.append("\"")
  }

  /// Controls (C0, DEL, C1), the separators that some readers take for line ends, and invisible marks of format, among
  /// them those that turn the direction of writing around.
  private static func mustEscape(_ scalar: Unicode.Scalar) -> Bool {
    if scalar.isASCII { return scalar.value < 0x20 || scalar.value == 0x7F }
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator: return true
    default: return false
    }
  }

  private static func appendUTF16Escape(_ scalar: Unicode.Scalar, to output: inout String) {
    for unit in UTF16.encode(scalar).map(Array.init) ?? [] {
      let digits = String(unit, radix: 16)
      output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
  }
}
