/// A header of a record in Kafka. Names and values are bytes, so that those made once are shared by every record.
package struct RecordHeader: Hashable, Sendable {
  package var name: [UInt8]
  /// Nil is a header without a value, which for Kafka is not the same as an empty one.
  package var value: [UInt8]?

  package init(name: [UInt8], value: [UInt8]?) {
    self.name = name
    self.value = value
  }

  package init(_ name: String, _ value: [UInt8]?) { self.init(name: Array(name.utf8), value: value) }
  package init(_ name: String, _ value: String) { self.init(name, Array(value.utf8)) }

  package func withUnsafeBytes<Result>(
    _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Result
  ) -> Result {
    name.withUnsafeBytes { name in withOptionalBytes(value) { body(name, $0) } }
  }

  /// The value as text, broken characters replaced; empty without a value.
  package var text: String { String(decoding: value ?? [], as: UTF8.self) }
}

/// The bytes in memory; an array that is there and empty is not the same as none.
@inlinable
public func withOptionalBytes<Result>(_ bytes: [UInt8]?, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
  guard let bytes else { return body(nil) }
  return bytes.withUnsafeBytes { body($0) }
}
