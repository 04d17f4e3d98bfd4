extension Bool: PostgresElement {
  package static var postgresType: UInt32 { PostgresType.bool }
  package static var postgresListType: UInt32 { PostgresType.boolArray }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(self ? 1 : 0)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> Bool {
    try unsafe field.required(types: PostgresType.bool, count: 1)[0] != 0
  }
}

/// Reads `smallint`, `integer` or `bigint` as `Number`; a value outside its range is an error.
private func decodeInteger<Number: FixedWidthInteger>(_ field: PostgresField) throws(PostgresError) -> Number {
  let bytes = try unsafe field.required()
  let value: Int64
  switch (field.type, bytes.count) {
  case (PostgresType.int2, 2): value = unsafe Int64(bytes.bigEndian(as: Int16.self))
  case (PostgresType.int4, 4): value = unsafe Int64(bytes.bigEndian(as: Int32.self))
  case (PostgresType.oid, 4): value = unsafe Int64(bytes.bigEndian(as: UInt32.self))
  case (PostgresType.int8, 8): value = unsafe bytes.bigEndian()
  default: throw .undecodable(column: field.column, "the column's type \(field.type) is not an integer")
  }
  guard let number = Number(exactly: value) else {
    throw .undecodable(column: field.column, "the number is out of the range of \(Number.self)")
  }
  return number
}

extension Int16: PostgresElement {
  package static var postgresType: UInt32 { PostgresType.int2 }
  package static var postgresListType: UInt32 { PostgresType.int2Array }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendBigEndian(self)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> Int16 { try decodeInteger(field) }
}

extension Int32: PostgresElement {
  package static var postgresType: UInt32 { PostgresType.int4 }
  package static var postgresListType: UInt32 { PostgresType.int4Array }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendBigEndian(self)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> Int32 { try decodeInteger(field) }
}

extension Int64: PostgresElement {
  package static var postgresType: UInt32 { PostgresType.int8 }
  package static var postgresListType: UInt32 { PostgresType.int8Array }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendBigEndian(self)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> Int64 { try decodeInteger(field) }
}

/// Only for the server's own statistics: no floating point touches money.
extension Double: PostgresElement {
  package static var postgresType: UInt32 { PostgresType.float8 }
  package static var postgresListType: UInt32 { PostgresType.float8Array }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendBigEndian(bitPattern)
    return true
  }

  package static func decode(_ field: PostgresField) throws(PostgresError) -> Double {
    if field.type == PostgresType.float4 {
      return unsafe Double(Float(bitPattern: try field.required(types: PostgresType.float4, count: 4).bigEndian()))
    }
    return unsafe Double(bitPattern: try field.required(types: PostgresType.float8, count: 8).bigEndian())
  }
}

extension Int128: PostgresElement {
  package static var postgresType: UInt32 { PostgresType.numeric }
  package static var postgresListType: UInt32 { PostgresType.numericArray }

  package func encode(into bytes: inout [UInt8]) -> Bool {
    let digits = NumericDigits(self)
    for index in 0..<digits.byteCount { bytes.append(digits.byte(index)) }
    return true
  }

  /// Reads a `numeric` without a fraction; everything else that it can hold is an error.
  package static func decode(_ field: PostgresField) throws(PostgresError) -> Int128 {
    if field.type != PostgresType.numeric { return Int128(try Int64.decode(field)) }
    guard let value = unsafe NumericDigits.decode(try field.required()) else {
      throw .undecodable(column: field.column, "the number is not an integer of 128 bits")
    }
    return value
  }
}
