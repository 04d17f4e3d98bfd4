internal import AdCore

/// A JSON value (RFC 8259) with its numbers as they were written, so that 64-bit integers stay exact.
indirect enum WrittenJSON {
  case null
  case bool(Bool)
  case number(String)
  case string(String)
  case array([WrittenJSON])
  /// In the order of the text; no key twice.
  case object([(key: String, value: WrittenJSON)])
}

/// Reads JSON strictly: nothing after the value, no key twice, no lone surrogates, bounded depth. Whatever is wrong is
/// one rejection.
struct JSONParser {
  private let bytes: UnsafeRawBufferPointer
  private var position = 0

  static func parse(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> WrittenJSON {
    var parser = JSONParser(bytes: bytes)
    let value = try parser.value(depth: 0)
    parser.skipSpace()
    guard parser.position == bytes.count else { throw malformed("something follows the JSON value") }
    return value
  }

  private init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private static func malformed(_ detail: String) -> Rejection { Rejection(.malformed, detail) }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  private mutating func skipSpace() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func value(depth: Int) throws(Rejection) -> WrittenJSON {
    guard depth <= FieldLimits.depthMaximum else { throw JSONParser.malformed("the JSON nests too deeply") }
    skipSpace()
    guard let first = current else { throw JSONParser.malformed("a JSON value is missing") }
    switch first {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"):
      try word("true")
      return .bool(true)
    case UInt8(ascii: "f"):
      try word("false")
      return .bool(false)
    case UInt8(ascii: "n"):
      try word("null")
      return .null
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default: throw JSONParser.malformed("a JSON value is missing")
    }
  }

  private mutating func word(_ word: StaticString) throws(Rejection) {
    let end = position + word.utf8CodeUnitCount
    guard end <= bytes.count, UnsafeRawBufferPointer(rebasing: bytes[position..<end]).equals(word) else {
      throw JSONParser.malformed("a JSON word is unknown")
    }
    position = end
  }

  private mutating func object(depth: Int) throws(Rejection) -> WrittenJSON {
    position += 1
    var members: [(key: String, value: WrittenJSON)] = []
    var keys: Set<String> = []
    skipSpace()
    if current == UInt8(ascii: "}") {
      position += 1
      return .object(members)
    }
    while true {
      skipSpace()
      guard current == UInt8(ascii: "\"") else { throw JSONParser.malformed("a JSON key is missing") }
      let key = try string()
      guard keys.insert(key).inserted else { throw JSONParser.malformed("a JSON key stands twice") }
      skipSpace()
      guard current == UInt8(ascii: ":") else { throw JSONParser.malformed("a JSON colon is missing") }
      position += 1
      members.append((key, try value(depth: depth + 1)))
      if try isEnd(UInt8(ascii: "}")) { return .object(members) }
    }
  }

  private mutating func array(depth: Int) throws(Rejection) -> WrittenJSON {
    position += 1
    var elements: [WrittenJSON] = []
    skipSpace()
    if current == UInt8(ascii: "]") {
      position += 1
      return .array(elements)
    }
    while true {
      elements.append(try value(depth: depth + 1))
      if try isEnd(UInt8(ascii: "]")) { return .array(elements) }
    }
  }

  /// After an element: true at `end`, false at a comma.
  private mutating func isEnd(_ end: UInt8) throws(Rejection) -> Bool {
    skipSpace()
    guard let byte = current, byte == end || byte == UInt8(ascii: ",") else {
      throw JSONParser.malformed("a JSON list does not end")
    }
    position += 1
    return byte == end
  }

  private mutating func number() throws(Rejection) -> String {
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

  private mutating func digits() throws(Rejection) {
    let start = position
    while let byte = current, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { position += 1 }
    guard position > start else { throw JSONParser.malformed("a JSON number has no digits") }
  }

  private mutating func string() throws(Rejection) -> String {
    position += 1
    var text: [UInt8] = []
    while let byte = current {
      position += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else {
          throw Rejection(.invalidText, "a JSON string is not UTF-8")
        }
        return string
      case UInt8(ascii: "\\"): text.append(contentsOf: String(try escape()).utf8)
      case 0..<0x20: throw JSONParser.malformed("a JSON string holds a control character")
      default: text.append(byte)
      }
    }
    throw JSONParser.malformed("a JSON string does not end")
  }

  private mutating func escape() throws(Rejection) -> Character {
    guard let byte = current else { throw JSONParser.malformed("a JSON string does not end") }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Character(Unicode.Scalar(byte))
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return Character(try escapedScalar())
    default: throw JSONParser.malformed("a JSON escape is unknown")
    }
  }

  private mutating func escapedScalar() throws(Rejection) -> Unicode.Scalar {
    var code = try hexadecimal()
    if code >> 10 == 0xD800 >> 10 {
      guard current == UInt8(ascii: "\\"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "u") else {
        throw Rejection(.invalidText, "a JSON string holds half a character")
      }
      position += 2
      let low = try hexadecimal()
      guard low >> 10 == 0xDC00 >> 10 else { throw Rejection(.invalidText, "a JSON string holds half a character") }
      code = 0x10000 + (code & 0x3FF) << 10 + low & 0x3FF
    }
    guard let scalar = Unicode.Scalar(code) else {
      throw Rejection(.invalidText, "a JSON string holds half a character")
    }
    return scalar
  }

  private mutating func hexadecimal() throws(Rejection) -> UInt32 {
    var code: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw JSONParser.malformed("a JSON escape has no four digits")
      }
      code = code << 4 | UInt32(digit)
      position += 1
    }
    return code
  }
}
