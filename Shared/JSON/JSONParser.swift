/// What is wrong with a text that is no JSON, or that a reader could understand in two ways.
package struct JSONError: Error, Hashable, Sendable {
  /// The characters are broken: no UTF-8, or half of a surrogate pair.
  package var isBrokenText = false
  /// For people, such as `a JSON colon is missing`.
  package var problem: String
  /// Where, counted from 1; the column in bytes.
  package var line = 1
  package var column = 1
}

extension JSONError: CustomStringConvertible {
  package var description: String { "it is no JSON: \(problem), in line \(line), column \(column)" }
}

extension JSONValue {
  /// Reads a whole JSON text.
  package static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
    try JSONParser.parse(bytes)
  }

  /// Reads a whole JSON text.
  package static func parse(_ bytes: some Sequence<UInt8>) throws(JSONError) -> JSONValue {
    try Array(bytes).withUnsafeBytes { bytes in
      Result { () throws(JSONError) in try JSONParser.parse(bytes) }
    }.get()
  }
}

/// Reads JSON strictly: nothing after the value, no key twice, no lone surrogates, bounded depth.
private struct JSONParser {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  static func parse(_ bytes: UnsafeRawBufferPointer) throws(JSONError) -> JSONValue {
    var parser = JSONParser(bytes: bytes)
    let value = try parser.value(depth: 0)
    parser.skipSpace()
    guard parser.position == bytes.count else { throw parser.malformed("something follows the JSON value") }
    return value
  }

  private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private func malformed(_ problem: String) -> JSONError {
    let read = bytes[..<position]
    let lineStart = read.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    return JSONError(
      problem: problem, line: 1 + read.count { $0 == UInt8(ascii: "\n") }, column: 1 + position - lineStart)
  }

  private func brokenText(_ problem: String) -> JSONError {
    var error = malformed(problem)
    error.isBrokenText = true
    return error
  }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
    guard depth <= JSONValue.depthMaximum else { throw malformed("the JSON nests too deeply") }
    skipSpace()
    guard let first = current else { throw malformed("a JSON value is missing") }
    switch first {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .text(try string())
    case UInt8(ascii: "t"):
      try word("true")
      return .flag(true)
    case UInt8(ascii: "f"):
      try word("false")
      return .flag(false)
    case UInt8(ascii: "n"):
      try word("null")
      return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default: throw malformed("a JSON value is missing")
    }
  }

  private mutating func word(_ word: String) throws(JSONError) {
    let end = position + word.utf8.count
    guard end <= bytes.count, bytes[position..<end].elementsEqual(word.utf8) else {
      throw malformed("a JSON word is unknown")
    }
    position = end
  }

  private mutating func object(depth: Int) throws(JSONError) -> JSONValue {
    position += 1
    var members: [JSONValue.Member] = []
    var keys: Set<String> = []
    skipSpace()
    if current == UInt8(ascii: "}") {
      position += 1
      return .object(members)
    }
    while true {
      skipSpace()
      guard current == UInt8(ascii: "\"") else { throw malformed("a JSON key is missing") }
      let key = try string()
      guard key.utf8.count <= JSONValue.strangeNameBytesMaximum || key.utf8.allSatisfy({ $0 < 0x80 }) else {
        throw malformed("a JSON key is too long for one that is no ASCII")
      }
      guard keys.insert(key).inserted else { throw malformed("a JSON key stands twice") }
      skipSpace()
      guard current == UInt8(ascii: ":") else { throw malformed("a JSON colon is missing") }
      position += 1
      members.append(JSONValue.Member(key, try value(depth: depth + 1)))
      if try isEnd(UInt8(ascii: "}")) { return .object(members) }
    }
  }

  private mutating func array(depth: Int) throws(JSONError) -> JSONValue {
    position += 1
    var elements: [JSONValue] = []
    skipSpace()
    if current == UInt8(ascii: "]") {
      position += 1
      return .list(elements)
    }
    while true {
      elements.append(try value(depth: depth + 1))
      if try isEnd(UInt8(ascii: "]")) { return .list(elements) }
    }
  }

  /// After an element: true at `end`, false at a comma.
  private mutating func isEnd(_ end: UInt8) throws(JSONError) -> Bool {
    skipSpace()
    guard let byte = current, byte == end || byte == UInt8(ascii: ",") else {
      throw malformed("a JSON list does not end")
    }
    position += 1
    return byte == end
  }

  private mutating func number() throws(JSONError) -> String {
    let start = position
    if current == UInt8(ascii: "-") { position += 1 }
    if current == UInt8(ascii: "0") { position += 1 } else { try digits() }
    if current == UInt8(ascii: ".") {
      position += 1
      try digits()
    }
    if let byte = current, byte | 0x20 == UInt8(ascii: "e") {
      position += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
      try digits()
    }
    return String(decoding: bytes[start..<position], as: UTF8.self)
  }

  private mutating func digits() throws(JSONError) {
    let start = position
    while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    guard position > start else { throw malformed("a JSON number has no digits") }
  }

  private mutating func string() throws(JSONError) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = current {
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else {
          throw brokenText("a JSON string is not UTF-8")
        }
        return string
      case UInt8(ascii: "\\"): text.append(contentsOf: String(try escape()).utf8)
      case 0..<0x20: throw malformed("a JSON string holds a control character")
      default: text.append(byte)
      }
    }
    throw malformed("a JSON string does not end")
  }

  private mutating func escape() throws(JSONError) -> Character {
    guard let byte = current else { throw malformed("a JSON string does not end") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Character(Unicode.Scalar(byte))
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return Character(try escapedScalar())
    default: throw malformed("a JSON escape is unknown")
    }
  }

  private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
    var code = try hexadecimal()
    if code >> 10 == 0xD800 >> 10 {
      guard current == UInt8(ascii: "\\"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u") else {
        throw brokenText("a JSON string holds half a character")
      }
      position += 2
      let low = try hexadecimal()
      guard low >> 10 == 0xDC00 >> 10 else { throw brokenText("a JSON string holds half a character") }
      code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
    }
    guard let scalar = Unicode.Scalar(code) else {
      throw brokenText("a JSON string holds half a character")
    }
    return scalar
  }

  private mutating func hexadecimal() throws(JSONError) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw malformed("a JSON escape has no four digits")
      }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }
}
