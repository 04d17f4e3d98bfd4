/// What cannot be taken from a file of the schema, and where.
struct SchemaProblem: Error, CustomStringConvertible {
  let place: Place
  let text: String

  /// As compilers write it, so that a build points to the line.
  var description: String { "\(place.file):\(place.line): error: \(text)" }

  struct Place {
    let file: String
    /// From 1.
    let line: Int
  }
}

/// The messages and enums of several files of one package, as they are declared.
struct Schema {
  struct Field {
    let number: Int
    let name: String
    /// As the file writes it: a scalar's name, or a message's or enum's name as seen from where it stands.
    let type: String
    let isRepeated: Bool
    /// Which oneof of its message it belongs to, counted from 0.
    let oneof: Int?
    let place: SchemaProblem.Place
  }

  struct Value {
    let name: String
    let number: Int
  }

  /// By full name, such as `handbill.v1.AdRequest`.
  private(set) var messages: [String: [Field]] = [:]
  /// By full name.
  private(set) var enums: [String: [Value]] = [:]
  /// What the files say of what they declare, by full name.
  private(set) var comments: [String: String] = [:]

  /// Adds the declarations of one file.
  mutating func add(_ text: String, file: String) throws {
    var parser = try SchemaParser(text, file: file)
    try parser.parseFile()
    for (name, place) in parser.names where messages[name] != nil || enums[name] != nil {
      throw SchemaProblem(place: place, text: "\(name) is declared twice")
    }
    messages.merge(parser.messages) { first, _ in first }
    enums.merge(parser.enums) { first, _ in first }
    comments.merge(parser.comments) { first, _ in first }
  }

  /// What a type's name means, seen from within a message: the innermost declaration, as protobuf looks names up.
  func resolve(_ name: String, within message: String) -> String? {
    var scope = message[...]
    while true {
      let candidate = "\(scope).\(name)"
      if messages[candidate] != nil || enums[candidate] != nil { return candidate }
      guard let dot = scope.lastIndex(of: ".") else { break }
      scope = scope[..<dot]
    }
    return messages[name] != nil || enums[name] != nil ? name : nil
  }
}
