/// Records written in JSON. They are refused for now: what is not read is never guessed at.
enum ProtobufJSON {
  static func protobuf(fromJSON _: UnsafeRawBufferPointer, schemaName _: String) throws(Rejection) -> [UInt8] {
    throw Rejection(.unknownContentType, "records in JSON are not taken")
  }
}

/// A CloudEvent in structured mode.
struct StructuredEvent {
  init(_: UnsafeRawBufferPointer) throws(Rejection) {
    throw Rejection(.unknownContentType, "records in JSON are not taken")
  }

  func headers(with headers: RecordHeaders) -> RecordHeaders { headers }
  func protobuf(schemaName _: String) throws(Rejection) -> [UInt8] { [] }
}
