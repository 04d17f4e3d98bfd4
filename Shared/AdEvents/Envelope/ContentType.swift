/// How a record's value is written, as its `content-type` header says.
package enum ContentType: UInt8, CaseIterable, Sendable {
  /// No such header: JSON if the value starts with `{`, else unknown.
  case absent = 0
  case protobuf = 1
  /// Protobuf's JSON mapping.
  case json = 2
  /// CloudEvents' structured mode: the attributes and the data in one JSON object.
  case cloudEventsJSON = 3
  case unknown = 4

  /// Reads the header's value; parameters after `;` do not count, nor does case.
  init(header: UnsafeRawBufferPointer) {
    if header.equals("application/protobuf") {
      self = .protobuf
      return
    }
    let name = header.prefix(64).prefix { $0 != UInt8(ascii: ";") }.filter { $0 != UInt8(ascii: " ") }
    switch String(decoding: name, as: UTF8.self).lowercased() {
    case "application/protobuf", "application/x-protobuf": self = .protobuf
    case "application/json": self = .json
    case "application/cloudevents+json": self = .cloudEventsJSON
    default: self = .unknown
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether these are the bytes of `text`, compared in place.
  @inline(__always)
  package func equals(_ text: StaticString) -> Bool {
    count == text.utf8CodeUnitCount && equals(UnsafeRawBufferPointer(start: text.utf8Start, count: count))
  }

  /// Whether these are the same bytes as `other`, which has as many. Every header of every event comes by here: eight
  /// bytes at a time.
  private func equals(_ other: UnsafeRawBufferPointer) -> Bool {
    var position = 0
    while position + 8 <= count {
      let left = loadUnaligned(fromByteOffset: position, as: UInt64.self)
      guard left == other.loadUnaligned(fromByteOffset: position, as: UInt64.self) else { return false }
      position += 8
    }
    while position < count {
      guard self[position] == other[position] else { return false }
      position += 1
    }
    return true
  }
}
