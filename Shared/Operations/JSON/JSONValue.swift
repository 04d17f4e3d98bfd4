internal import Foundation

/// A JSON value as it is read and written by people and tools: numbers are integers, since money is text and ratios are
/// texts with two decimals. Objects keep the order in which their members were written here.
package enum JSONValue: Hashable, Sendable {
  case null
  case flag(Bool)
  case integer(Int64)
  case text(String)
  case list([JSONValue])
  case object([Member])
  /// A number that is no integer of 64 bits: understood, so that a person can be told where it stands.
  case otherNumber

  /// A name and its value.
  package struct Member: Hashable, Sendable {
    package var name: String
    package var value: JSONValue

    package init(_ name: String, _ value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The member of that name; nil for none, and for what is no object.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }

  /// The text of a text.
  package var textValue: String? { if case .text(let text) = self { text } else { nil } }
  /// The number of an integer.
  package var integerValue: Int64? { if case .integer(let integer) = self { integer } else { nil } }
  /// The elements of a list.
  package var elements: [JSONValue]? { if case .list(let list) = self { list } else { nil } }

  /// The text or null.
  package static func optional(_ text: String?) -> JSONValue { text.map { .text($0) } ?? .null }
  /// A list of texts.
  package static func texts(_ texts: [String]) -> JSONValue { .list(texts.map { .text($0) }) }

  /// What is wrong with a text that is no JSON.
  package struct SyntaxError: Error, Sendable, CustomStringConvertible {
    package let description: String
  }

  /// Reads a whole JSON text.
  package static func parse(_ bytes: some Sequence<UInt8>) throws(SyntaxError) -> JSONValue {
    do { return try JSONDecoder().decode(JSONValue.self, from: Data(bytes)) } catch {
      guard case DecodingError.dataCorrupted(let context) = error else { throw SyntaxError(description: "\(error)") }
      let reason = context.underlyingError.map { "\(($0 as NSError).userInfo[NSDebugDescriptionErrorKey] ?? $0)" }
      throw SyntaxError(description: "it is no JSON: \(reason ?? context.debugDescription)")
    }
  }
}

extension JSONValue: Decodable {
  private struct Name: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  package init(from decoder: any Decoder) throws {
    if let container = try? decoder.container(keyedBy: Name.self) {
      self = .object(
        try container.allKeys.sorted { $0.stringValue < $1.stringValue }
          .map { Member($0.stringValue, try container.decode(JSONValue.self, forKey: $0)) })
    } else if var container = try? decoder.unkeyedContainer() {
      var list: [JSONValue] = []
      while !container.isAtEnd { list.append(try container.decode(JSONValue.self)) }
      self = .list(list)
    } else {
      let container = try decoder.singleValueContainer()
      if container.decodeNil() {
        self = .null
      } else if let flag = try? container.decode(Bool.self) {
        self = .flag(flag)
      } else if let text = try? container.decode(String.self) {
        self = .text(text)
      } else if let integer = try? container.decode(Int64.self) {
        self = .integer(integer)
      } else {
        self = .otherNumber
      }
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
