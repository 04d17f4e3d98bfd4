/// A piece of HTML. It is made only of elements, escaped text and escaped attributes, so that whatever a stranger
/// wrote stays text.
package struct HTML: Sendable {
  package let markup: String

  private init(markup: String) { self.markup = markup }

  /// Text, escaped.
  package static func text(_ text: String) -> HTML { HTML(markup: escape(text)) }

  /// An element. Its name is a constant in the source, never data.
  package static func element(
    _ name: StaticString, _ attributes: [HTMLAttribute] = [], @HTMLBuilder _ content: () -> HTML = { HTML.nothing }
  ) -> HTML {
    let name = name.description
    let opening = "<" + name + attributes.map { " \($0.name)=\"\(escape($0.value))\"" }.joined() + ">"
    if childless.contains(name) { return HTML(markup: opening) }
    return HTML(markup: opening + content().markup + "</\(name)>")
  }

  package static let nothing = HTML(markup: "")

  static func joined(_ parts: [HTML]) -> HTML { HTML(markup: parts.map(\.markup).joined()) }

  private static let childless: Set<String> = ["br", "col", "hr", "img", "input", "link", "meta"]

  private static func escape(_ text: String) -> String {
    var output = ""
    output.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": output += "&amp;"
      case "<": output += "&lt;"
      case ">": output += "&gt;"
      case "\"": output += "&quot;"
      case "'": output += "&#39;"
      // HTML has no way to write a NUL.
      case "\0": output += "\u{FFFD}"
      default: output.unicodeScalars.append(scalar)
      }
    }
    return output
  }
}

/// An attribute. Its name is a constant in the source; its value is escaped where it is written.
package struct HTMLAttribute: Sendable {
  let name: String
  let value: String

  /// Any attribute but those that hold code (`on...`, `style`) or an address, for which see ``href(_:)``; such a one
  /// is written as `data-` followed by its name, which does nothing.
  package static func named(_ name: StaticString, _ value: String) -> HTMLAttribute {
    let name = name.description.lowercased()
    let isActive = name.hasPrefix("on") || ["style", "href", "src", "action", "formaction", "srcdoc"].contains(name)
    return HTMLAttribute(name: isActive ? "data-" + name : name, value: value)
  }

  package static func `class`(_ value: String) -> HTMLAttribute { HTMLAttribute(name: "class", value: value) }

  /// An address; anything but `https:`, `http:`, a path of our own or a fragment becomes `#`.
  package static func href(_ address: String) -> HTMLAttribute {
    HTMLAttribute(name: "href", value: isHarmless(address) ? address : "#")
  }

  private static func isHarmless(_ address: String) -> Bool {
    // Browsers drop control characters inside an address, which could hide `javascript:` or a second slash.
    guard address.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0 != "\\" }) else { return false }
    if address.hasPrefix("//") { return false }
    let lower = address.lowercased()
    return ["https://", "http://", "/", "#", "?"].contains { lower.hasPrefix($0) }
  }
}

/// Lets elements be written one below the other. A bare string is escaped text.
@resultBuilder
package enum HTMLBuilder {
  package static func buildExpression(_ html: HTML) -> HTML { html }
  package static func buildExpression(_ text: String) -> HTML { .text(text) }
  package static func buildBlock(_ parts: HTML...) -> HTML { .joined(parts) }
  package static func buildArray(_ parts: [HTML]) -> HTML { .joined(parts) }
  package static func buildOptional(_ part: HTML?) -> HTML { part ?? .nothing }
  package static func buildEither(first part: HTML) -> HTML { part }
  package static func buildEither(second part: HTML) -> HTML { part }
}
