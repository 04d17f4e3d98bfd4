/// A value that travels as a parameter or as a field of a row, in PostgreSQL's binary format. `nil` is NULL.
package protocol PostgresValue: Sendable {
  /// The object id of the PostgreSQL type.
  static var postgresType: UInt32 { get }
  /// Appends the binary form; returns false, having appended nothing, for NULL.
  func encode(into bytes: inout [UInt8]) -> Bool
  /// Reads the binary form.
  static func decode(_ field: PostgresField) throws(PostgresError) -> Self
}

/// What an array of a Swift type means to PostgreSQL: for most types an array, for `UInt8` a `bytea`.
package protocol PostgresListElement: Sendable {
  static var postgresListType: UInt32 { get }
  static func encodeList(_ list: [Self], into bytes: inout [UInt8])
  static func decodeList(_ field: PostgresField) throws(PostgresError) -> [Self]
}

/// A value that can also be an element of a one-dimensional array (for `unnest` and `= ANY`).
package protocol PostgresElement: PostgresValue, PostgresListElement {}

extension Array: PostgresValue where Element: PostgresListElement {
  package static var postgresType: UInt32 { Element.postgresListType }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    Element.encodeList(self, into: &bytes)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> [Element] {
    try Element.decodeList(field)
  }
}

extension Optional: PostgresValue where Wrapped: PostgresValue {
  package static var postgresType: UInt32 { Wrapped.postgresType }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    switch self {
    case .some(let value): value.encode(into: &bytes)
    case .none: false
    }
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> Wrapped? {
    unsafe field.bytes == nil ? nil : try Wrapped.decode(field)
  }
}

/// An array may hold NULLs.
extension Optional: PostgresListElement where Wrapped: PostgresElement {
  package static var postgresListType: UInt32 { Wrapped.postgresListType }
}

extension Optional: PostgresElement where Wrapped: PostgresElement {}

/// A list of bytes is a `bytea`.
extension UInt8: PostgresListElement {
  package static var postgresListType: UInt32 { PostgresType.bytea }

  package static func encodeList(_ list: [UInt8], into bytes: inout [UInt8]) { bytes.append(contentsOf: list) }

  package static func decodeList(_ field: PostgresField) throws(PostgresError) -> [UInt8] {
    unsafe [UInt8](try field.required(types: PostgresType.bytea))
  }
}

extension Array: PostgresElement where Element == UInt8 {}

extension Array: PostgresListElement where Element == UInt8 {
  package static var postgresListType: UInt32 { PostgresType.byteaArray }
}

extension PostgresListElement where Self: PostgresValue {
  /// The array format: dimensions, whether there are NULLs, the element's type, then length and lower bound, then each
  /// element with its length (-1 for NULL).
  package static func encodeList(_ list: [Self], into bytes: inout [UInt8]) {
    let start = bytes.count
    bytes.reserveCapacity(start + 20 + list.count * 12)
    bytes.appendListHeader(count: list.count, elementType: Self.postgresType)
    var hasNull = false
    for element in list {
      let lengthAt = bytes.count
      bytes.appendBigEndian(Int32(-1))
      if element.encode(into: &bytes) {
        bytes.replaceBigEndian(at: lengthAt, Int32(truncatingIfNeeded: bytes.count - lengthAt - 4))
      } else {
        hasNull = true
      }
    }
    if hasNull { bytes.replaceBigEndian(at: start + 4, Int32(1)) }
  }

  package static func decodeList(_ field: PostgresField) throws(PostgresError) -> [Self] {
    var reader = unsafe ByteReader(try field.required(types: postgresListType))
    guard let dimensions = reader.int32(), reader.int32() != nil, let type = reader.int32() else {
      throw .undecodable(column: field.column, "the array is too short")
    }
    if dimensions == 0 { return [] }
    guard dimensions == 1, let count = reader.int32(), reader.int32() != nil, count >= 0 else {
      throw .undecodable(column: field.column, "the array has \(dimensions) dimensions, 1 is expected")
    }
    var list: [Self] = []
    list.reserveCapacity(min(Int(count), reader.remaining / 4))
    for _ in 0..<count {
      guard let length = reader.int32() else {
        throw .undecodable(column: field.column, "the array is too short")
      }
      var bytes: UnsafeRawBufferPointer?
      if length >= 0 {
        guard let slice = unsafe reader.bytes(Int(length)) else {
          throw .undecodable(column: field.column, "the array is too short")
        }
        unsafe bytes = unsafe slice
      }
      let element = unsafe PostgresField(bytes: bytes, type: UInt32(bitPattern: type), column: field.column)
      list.append(try Self.decode(element))
    }
    return list
  }
}
