internal import Postgres

/// One-dimensional arrays as fields of COPY's binary format: dimensions, a flag for NULLs, the elements' type, the
/// length, the first index; then each element with its length.
extension CopyBuffer {
  /// Appends a field of type `smallint[]`.
  func append(int16s values: [Int16]) {
    append(array: values, elementType: PostgresType.int2, elementBytes: 2) { value, bytes in
      ArrayColumns.append(value, to: &bytes)
    }
  }

  /// Appends a field of type `integer[]`.
  func append(int32s values: [Int32]) {
    append(array: values, elementType: PostgresType.int4, elementBytes: 4) { value, bytes in
      ArrayColumns.append(value, to: &bytes)
    }
  }

  /// Appends a field of type `text[]`.
  func append(texts values: [String]) {
    var bytes = ArrayColumns.header(count: values.count, elementType: PostgresType.text)
    for value in values {
      ArrayColumns.append(Int32(truncatingIfNeeded: value.utf8.count), to: &bytes)
      bytes.append(contentsOf: value.utf8)
    }
    append(bytea: bytes)
  }

  private func append<Value>(
    array values: [Value], elementType: UInt32, elementBytes: Int32, _ element: (Value, inout [UInt8]) -> Void
  ) {
    var bytes = ArrayColumns.header(count: values.count, elementType: elementType)
    for value in values {
      ArrayColumns.append(elementBytes, to: &bytes)
      element(value, &bytes)
    }
    append(bytea: bytes)
  }
}

private enum ArrayColumns {
  static func header(count: Int, elementType: UInt32) -> [UInt8] {
    var bytes: [UInt8] = []
    append(Int32(count == 0 ? 0 : 1), to: &bytes)
    append(Int32(0), to: &bytes)
    append(elementType, to: &bytes)
    guard count > 0 else { return bytes }
    append(Int32(truncatingIfNeeded: count), to: &bytes)
    append(Int32(1), to: &bytes)
    return bytes
  }

  static func append(_ value: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
