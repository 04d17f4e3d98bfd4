internal import JSON

/// Makes text of strangers harmless for logs and terminals.
package enum TextSafety {
  /// The longest user text in a log line or message, in bytes.
  package static let bytesMaximum = 1_024

  /// One line without anything that a terminal obeys: controls, escapes, line ends and marks of direction are written
  /// as `\u{...}`. Text longer than `bytesMaximum` is cut, with `…` at its end.
  package static func singleLine(_ text: String, bytesMaximum: Int = TextSafety.bytesMaximum) -> String {
    var output = ""
    for scalar in cut(text, bytesMaximum: bytesMaximum).unicodeScalars {
      if scalar.isUnsafeToShow {
        output += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        output.unicodeScalars.append(scalar)
      }
    }
    return output
  }

  /// The text, or as many of its first characters as fit, with `…` behind them.
  static func cut(_ text: String, bytesMaximum: Int = TextSafety.bytesMaximum) -> String {
    guard text.utf8.count > bytesMaximum else { return text }
    var end = text.utf8.index(text.startIndex, offsetBy: bytesMaximum)
    while end.samePosition(in: text.unicodeScalars) == nil { end = text.utf8.index(before: end) }
    return String(text.unicodeScalars[..<end]) + "…"
  }
}
