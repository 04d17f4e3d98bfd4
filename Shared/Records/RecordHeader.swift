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
    name.withUnsafeBytes { name in
      guard let value else { return body(name, nil) }
      return value.withUnsafeBytes { body(name, $0) }
    }
  }

  /// The value as text, broken characters replaced; empty without a value.
  package var text: String { String(decoding: value ?? [], as: UTF8.self) }
}
