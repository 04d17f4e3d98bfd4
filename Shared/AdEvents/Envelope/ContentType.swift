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
  func equals(_ text: StaticString) -> Bool {
    guard count == text.utf8CodeUnitCount else { return false }
    return text.withUTF8Buffer { elementsEqual($0) }
  }
}
