/// A JSON value (RFC 8259), as clients, people and tools write it.
package indirect enum JSONValue: Hashable, Sendable {
  case null
  case flag(Bool)
  /// As it was written, so that whole numbers of any size stay exact.
  case number(String)
  case text(String)
  case list([JSONValue])
  /// In the order of the text; no name twice where it was read.
  case object([Member])

  /// A name and its value.
  package struct Member: Hashable, Sendable {
    package var name: String
    package var value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// How deep lists and objects may nest where they are read.
  package static let depthMaximum = 40
  /// The longest name that is no ASCII, in bytes. Texts are compared as they look: combining marks are put into order each time,
  /// in a time that grows with the square of their number, and whoever writes may write as many as a body has room for.
  package static let strangeNameBytesMaximum = 64

  /// The member of that name; nil for none, and for what is no object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The text of a text.
  package var textValue: String? { if case .text(let text) = self { text } else { nil } }
  /// The number of a whole number of 64 bits.
  package var integerValue: Int64? {
    guard case .number(let written) = self else { return nil }
    return ExactInteger.parse(written).flatMap(Int64.init(exactly:))
  }
  /// The elements of a list.
  package var elements: [JSONValue]? { if case .list(let list) = self { list } else { nil } }

  /// The number of an integer.
  package static func integer(_ integer: some BinaryInteger & Sendable) -> JSONValue { .number(String(integer)) }
  /// The text or null.
  package static func optional(_ text: String?) -> JSONValue { text.map { .text($0) } ?? .null }
  /// A list of texts.
  package static func texts(_ texts: [String]) -> JSONValue { .list(texts.map { .text($0) }) }

  /// The same with the members of all objects in the order of their names, so that what is equal reads equal.
  package var inOrderOfNames: JSONValue {
    switch self {
    case .null, .flag, .number, .text: self
    case .list(let list): .list(list.map(\.inOrderOfNames))
    case .object(let members):
      .object(members.sorted { $0.name < $1.name }.map { Member($0.name, $0.value.inOrderOfNames) })
    }
  }
}

extension JSONValue: ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral, ExpressibleByStringLiteral,
  ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral
{
  package init(dictionaryLiteral elements: (String, JSONValue)...) {
    self = .object(elements.map { Member($0.0, $0.1) })
  }
  package init(arrayLiteral elements: JSONValue...) { self = .list(elements) }
  package init(stringLiteral value: String) { self = .text(value) }
  package init(integerLiteral value: Int64) { self = .integer(value) }
  package init(booleanLiteral value: Bool) { self = .flag(value) }
}
