/// A value that appends itself to a COPY as one field, of exactly the column's type.
///
/// Rows go through here field by field: whatever a row needs can be inlined where its types are known.
@usableFromInline
package protocol CopyValue {
  func append(to buffer: CopyBuffer)
}

extension CopyBuffer {
  @inlinable
  package func append(_ value: some CopyValue) { value.append(to: self) }

  /// Appends the value, or NULL.
  @inlinable
  package func append(_ value: (some CopyValue)?) {
    if let value { value.append(to: self) } else { null() }
  }

  /// Appends a field of the array type of its elements.
  package func append<Element: PostgresListElement>(list: [Element]) {
    var bytes: [UInt8] = []
    Element.encodeList(list, into: &bytes)
    append(bytea: bytes)
  }
}

extension Bool: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(bool: self) }
}

extension Int16: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int16: self) }
}

extension Int32: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int32: self) }
}

extension Int64: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int64: self) }
}

/// As a `bigint` of the same bits.
extension UInt64: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int64: Int64(bitPattern: self)) }
}

/// As an `integer`: a `smallint` has a sign.
extension UInt16: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(int32: Int32(self)) }
}

extension Int128: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(numeric: self) }
}

extension String: CopyValue {
  @inlinable
  package func append(to buffer: CopyBuffer) { buffer.append(text: self) }
}
