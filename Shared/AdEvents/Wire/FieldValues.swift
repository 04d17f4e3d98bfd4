internal import AdBasics

/// The checked ways from a field's bytes to a value: text, ids, ranges, enums. Each names its field when it rejects.
extension WireReader {
  /// Text of at most `maximum` bytes: UTF-8 without NUL. May be empty.
  mutating func text(_ name: StaticString, maximum: Int) throws(Rejection) -> String {
    try FieldValue.text(try bytes(), name, maximum: maximum)
  }

  /// An id; missing ids are found by the caller, who still holds nil.
  mutating func identifier<Entity>(_ name: StaticString) throws(Rejection) -> Identifier<Entity>? {
    let bytes = try bytes()
    if bytes.isEmpty { return nil }
    guard let slug = Slug(bytes: bytes) else {
      throw Rejection(
        .invalidField, "\(name) is not a slug: 1 to \(Slug.bytesMaximum) of a-z, 0-9 and -, the first not -")
    }
    return Identifier(slug)
  }

  /// A version 7 UUID of 16 bytes.
  mutating func uuid(_ name: StaticString) throws(Rejection) -> UUIDv7? {
    var unused: UUIDv7?
    return try uuid(name, asWritten: &unused)
  }

  /// The same.
  ///
  /// - Parameter written: becomes the UUID where somebody wrote one as text, or one of another version: it is rejected,
  ///   and can be answered.
  mutating func uuid(_ name: StaticString, asWritten written: inout UUIDv7?) throws(Rejection) -> UUIDv7? {
    let bytes = try bytes()
    if bytes.isEmpty { return nil }
    if bytes.count == 16 {
      let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
      let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      if let id = UUIDv7(high: high, low: low) { return id }
      written = UUIDv7(asWritten: high, low: low)
      throw Rejection(.invalidField, "\(name) is not a UUID of version 7, which begins with the time")
    }
    guard let text = FieldValue.uuidWrittenAsText(bytes) else {
      throw Rejection(.invalidField, "\(name) is not a version 7 UUID of 16 bytes")
    }
    written = text
    throw Rejection(.invalidField, "\(name) is a UUID written as text: give its 16 bytes, in JSON as base64")
  }

  /// A version 7 UUID in its text form.
  mutating func uuidText(_ name: StaticString) throws(Rejection) -> UUIDv7? {
    let bytes = try bytes()
    if bytes.isEmpty { return nil }
    // A longer text is none, and is not copied to find that out.
    guard bytes.count == UUIDv7.textBytes, let id = UUIDv7(String(decoding: bytes, as: UTF8.self)) else {
      throw Rejection(.invalidField, "\(name) is not a version 7 UUID as text")
    }
    return id
  }

  mutating func country(_ name: StaticString) throws(Rejection) -> Country? {
    let bytes = try bytes()
    if bytes.isEmpty { return nil }
    guard bytes.count == 2, let country = Country(code: UInt16(bytes[0]) << 8 | UInt16(bytes[1])) else {
      throw Rejection(.invalidField, "\(name) is not a country's two letters in upper case, such as US")
    }
    return country
  }

  mutating func currency(_ name: StaticString) throws(Rejection) -> Currency? {
    let bytes = try bytes()
    if bytes.isEmpty { return nil }
    guard let currency = Currency(String(decoding: bytes, as: UTF8.self)) else {
      throw Rejection(.invalidField, "\(name) is not a currency's three letters")
    }
    return currency
  }

  /// A known number of an enum; 0 is nil, except where it has a meaning.
  @inline(__always)
  mutating func choice<Choice: RawRepresentable<UInt8> & CaseIterable>(
    _ name: StaticString, as _: Choice.Type = Choice.self
  ) throws(Rejection) -> Choice? {
    let number = try unsigned()
    if let small = UInt8(exactly: number), let value = Choice(rawValue: small) { return value }
    guard number == 0 else { throw FieldValue.unknownNumber(number, name, Choice.self) }
    return nil
  }

  /// A moment from 1970 to 9999.
  mutating func timestamp(_ name: StaticString) throws(Rejection) -> Timestamp {
    Timestamp(milliseconds: try integer(name, in: 0...FieldLimits.timestampMaximum))
  }

  /// An `int64` within `range`.
  mutating func integer(_ name: StaticString, in range: ClosedRange<Int64>) throws(Rejection) -> Int64 {
    let value = try signed()
    guard range.contains(value) else {
      throw Rejection(.invalidField, "\(name) is not \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// A `uint64` duration in milliseconds, at most `maximum`.
  mutating func milliseconds(_ name: StaticString, maximum: Int64 = .max) throws(Rejection) -> Int64 {
    let value = try unsigned()
    guard value <= UInt64(maximum) else { throw Rejection(.invalidField, "\(name) is more than \(maximum)") }
    return Int64(value)
  }

  /// A price or amount that cannot be negative.
  mutating func nanos(_ name: StaticString) throws(Rejection) -> Nanos {
    Nanos(try integer(name, in: 0...Int64.max))
  }

  /// A `sint32`.
  mutating func zigzag32(_ name: StaticString) throws(Rejection) -> Int32 {
    guard let value = Int32(exactly: try zigzag()) else { throw Rejection(.invalidField, "\(name) is out of range") }
    return value
  }

  /// A share of 10,000.
  mutating func basisPoints(_ name: StaticString) throws(Rejection) -> UInt16 {
    let value = try unsigned()
    guard value <= 10_000 else { throw Rejection(.invalidField, "\(name) is more than 10,000 basis points") }
    return UInt16(value)
  }

  /// A `bytes` field of at most `maximum` bytes.
  mutating func bytes(_ name: StaticString, maximum: Int) throws(Rejection) -> UnsafeRawBufferPointer {
    try FieldValue.within(maximum, try bytes(), name)
  }

  /// An amount of nanos beyond 64 bits, as decimal text: digits, not negative; nil when empty.
  mutating func decimal(_ name: StaticString) throws(Rejection) -> Int128? {
    let text = try text(name, maximum: 39)
    if text.isEmpty { return nil }
    guard text.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), let value = Int128(text)
    else { throw Rejection(.invalidField, "\(name) is not a whole number") }
    return value
  }
}

/// Checks that need no reader.
enum FieldValue {
  /// The bytes, of which there may be `maximum`.
  @inline(__always)
  static func within(
    _ maximum: Int, _ bytes: UnsafeRawBufferPointer, _ name: StaticString
  ) throws(Rejection) -> UnsafeRawBufferPointer {
    guard bytes.count <= maximum else {
      throw Rejection(.invalidField, "\(name) has \(bytes.count) bytes; \(maximum) may be")
    }
    return bytes
  }

  static func text(
    _ bytes: UnsafeRawBufferPointer, _ name: StaticString, maximum: Int
  ) throws(Rejection) -> String {
    let bytes = try within(maximum, bytes, name)
    guard !bytes.contains(0) else { throw Rejection(.invalidText, "\(name) holds a NUL") }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw Rejection(.invalidText, "\(name) is not UTF-8")
    }
    return text
  }

  /// The value of a field that has to be there.
  @inline(__always)
  static func required<Value>(_ value: Value?, _ name: StaticString) throws(Rejection) -> Value {
    guard let value else { throw Rejection(.missingField, "\(name) is missing") }
    return value
  }

  static func required(_ value: String, _ name: StaticString) throws(Rejection) -> String {
    guard !value.isEmpty else { throw Rejection(.missingField, "\(name) is missing") }
    return value
  }

  /// Of an enum: with the numbers that there are.
  static func unknownNumber<Choice: RawRepresentable<UInt8> & CaseIterable>(
    _ number: UInt64, _ name: StaticString, _: Choice.Type
  ) -> Rejection {
    let permitted = Choice.allCases.map { "\($0.rawValue) (\($0))" }.joined(separator: ", ")
    return Rejection(.invalidField, "\(name) has the unknown number \(number): give one of \(permitted)")
  }

  static func add<Element>(
    _ element: Element, to list: inout [Element], _ name: StaticString, maximum: Int
  ) throws(Rejection) {
    guard list.count < maximum else { throw Rejection(.invalidField, "\(name) has more than \(maximum) entries") }
    list.append(element)
  }
}

/// Sets, in catalogue records.
extension WireReader {
  /// Adds one label of a repeated field.
  mutating func label(_ name: StaticString, into set: inout Set<String>) throws(Rejection) {
    let text = try FieldValue.required(try text(name, maximum: FieldLimits.labelBytesMaximum), name)
    try FieldValue.room(set.count, name)
    set.insert(text)
  }

  /// Adds the numbers of a repeated enum, packed or not.
  mutating func choices<Choice: RawRepresentable<UInt8> & CaseIterable & Hashable>(
    _ name: StaticString, into set: inout Set<Choice>
  ) throws(Rejection) {
    guard wireType == .bytes else {
      set.insert(try FieldValue.required(try choice(name), name))
      return
    }
    var packed = WireReader(try bytes())
    while let number = try packed.packedVarint() {
      guard let small = UInt8(exactly: number), let value = Choice(rawValue: small) else {
        throw FieldValue.unknownNumber(number, name, Choice.self)
      }
      set.insert(value)
    }
  }
}

extension WireWriter {
  /// A set of texts, in order, so that equal sets give equal bytes.
  mutating func texts(_ field: UInt32, _ set: some Sequence<String>) {
    for text in set.sorted() { presentText(field, text) }
  }

  /// A repeated enum, packed, in order.
  mutating func choices<Choice: RawRepresentable<UInt8>>(_ field: UInt32, _ set: some Collection<Choice>) {
    guard !set.isEmpty else { return }
    var packed = WireWriter()
    for value in set.map(\.rawValue).sorted() { packed.varint(UInt64(value)) }
    presentBytes(field, packed.output)
  }
}

extension FieldValue {
  static func room(_ count: Int, in maximum: Int = FieldLimits.setMaximum, _ name: StaticString) throws(Rejection) {
    guard count < maximum else { throw Rejection(.invalidField, "\(name) has more than \(maximum) entries") }
  }
}

extension FieldValue {
  /// The UUID whose text stands where its bytes belong: in protobuf the 36 characters, in JSON what they are as base64.
  static func uuidWrittenAsText(_ bytes: UnsafeRawBufferPointer) -> UUIDv7? {
    guard bytes.count != UUIDv7.textBytes else { return UUIDv7(String(decoding: bytes, as: UTF8.self)) }
    guard bytes.count == UUIDv7.textBytes / 4 * 3 else { return nil }
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let word = bytes[start..<start + 3].reduce(0) { $0 << 8 | Int($1) }
      for shift in [18, 12, 6, 0] { text.append(digits[word >> shift & 63]) }
    }
    return UUIDv7(String(decoding: text, as: UTF8.self))
  }
}
