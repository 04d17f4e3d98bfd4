internal import AdBasics
internal import JSON
internal import Records

/// A CloudEvent in structured mode: the attributes and the data in one JSON object.
struct StructuredEvent {
  private let attributes: [RecordHeader]
  private let data: Payload

  private enum Payload {
    case json(JSONValue)
    case protobuf([UInt8])
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(Rejection) {
    guard case .object(let members) = try ProtobufJSON.value(bytes) else {
      throw Rejection(.malformed, "a CloudEvent in JSON is not an object")
    }
    var attributes: [RecordHeader] = []
    var payloads: [Payload] = []
    for member in members {
      let key = member.name
      switch (key, member.value) {
      case ("data", let value): payloads.append(.json(value))
      case ("data_base64", .text(let text)):
        guard let decoded = ProtobufJSON.base64(text) else {
          throw Rejection(.malformed, "data_base64 is not base64")
        }
        payloads.append(.protobuf(decoded))
      case ("id", .text(let text)), ("type", .text(let text)), ("source", .text(let text)),
        ("specversion", .text(let text)), ("time", .text(let text)):
        attributes.append(RecordHeader("ce_" + key, text))
      case ("id", _), ("type", _), ("source", _), ("specversion", _), ("time", _), ("data_base64", _):
        throw Rejection(.invalidEnvelope, "\(key) is not a string")
      default: break
      }
    }
    guard let data = payloads.first, payloads.count == 1 else {
      throw Rejection(.missingField, "a CloudEvent has one of data and data_base64")
    }
    self.attributes = attributes
    self.data = data
  }

  /// The record's headers with the event's own attributes in their place.
  func headers(with headers: RecordHeaders) -> RecordHeaders {
    var result = headers
    result.idHash = nil
    result.type = .absent
    result.hasSource = false
    result.isSpecVersionKnown = nil
    result.time = nil
    for attribute in attributes { result.add(attribute) }
    return result
  }

  /// The protobuf form of the data's fields that can be read.
  func protobuf(schemaName: String, _ mistakes: inout Mistakes) -> [UInt8] {
    switch data {
    case .protobuf(let bytes): bytes
    case .json(let value): ProtobufJSON.protobuf(from: value, schemaName: schemaName, &mistakes)
    }
  }
}
