internal import AdBasics
internal import Hashes
internal import JSON

/// A value that travels in a topic, in the schema's message of the same meaning.
///
/// Unknown fields do no harm: a decoder steps over them, so an older reader takes a newer writer's records. They are
/// kept in that a record which is forwarded, or rejected, travels as its original bytes; no value is ever encoded
/// again in its place.
package protocol EventMessage: Hashable, Sendable {
  /// The schema's full name of the message, such as `handbill.v1.AdRequest`.
  static var schemaName: String { get }
  /// The `ce_type`s that such a record may have.
  static var eventTypes: [EventType] { get }
  /// Whether clients write it. What only our services write and does not decode is `invalidInternal`; what clients
  /// write may be fed by hand as JSON without an envelope.
  static var isWrittenByClients: Bool { get }
  /// The most bytes that such a record's value may have.
  static var valueBytesMaximum: Int { get }
  /// The `ce_type` of this value.
  var eventType: EventType { get }

  /// Reads the protobuf form. `headers` are the envelope, already checked.
  static func read(_ bytes: UnsafeRawBufferPointer, headers: RecordHeaders) throws(Rejection) -> Self
  /// Writes the protobuf form.
  func write(to writer: inout WireWriter)
}

extension EventMessage {
  package static var valueBytesMaximum: Int {
    isWrittenByClients ? FieldLimits.clientValueBytesMaximum : FieldLimits.internalValueBytesMaximum
  }

  /// Reads a record, in whatever form it is written, and checks all of it: the one way in.
  /// - Parameter value: the record's value; nil for a null value (tombstone).
  package static func decode(
    value: UnsafeRawBufferPointer?, headers: RecordHeaders
  ) -> Result<Self, Rejection> {
    Envelope.withProtobuf(of: Self.self, value: value, headers: headers) { bytes, headers throws(Rejection) in
      let message = try read(bytes, headers: headers)
      try Envelope.check(type: message.eventType, headers)
      return message
    }
  }

  /// The protobuf form.
  package func encoded() -> [UInt8] {
    var writer = WireWriter()
    writer.output.reserveCapacity(EventMessageLimits.usualBytes)
    write(to: &writer)
    return writer.output
  }
}

private enum EventMessageLimits {
  /// Most messages need no more memory than this.
  static let usualBytes = 384
}

/// From a record to checked protobuf bytes: size, content type and CloudEvents' attributes.
enum Envelope {
  /// Calls `body` with the protobuf form of `value` and with what the envelope says. Every failure is one rejection.
  static func withProtobuf<Message: EventMessage, Outcome>(
    of _: Message.Type, value: UnsafeRawBufferPointer?, headers: RecordHeaders,
    _ body: (UnsafeRawBufferPointer, RecordHeaders) throws(Rejection) -> Outcome
  ) -> Result<Outcome, Rejection> {
    do {
      return .success(try open(Message.self, value, headers, body))
    } catch {
      if Message.isWrittenByClients { return .failure(error) }
      return .failure(Rejection(.invalidInternal, "\(error.reason): \(error.detail)"))
    }
  }

  /// That `ce_type`, where there is one, says what the message says.
  static func check(type: EventType, _ headers: RecordHeaders) throws(Rejection) {
    guard case .known(let named) = headers.type else { return }
    guard named == type else { throw Rejection(.unknownType, "ce_type names another type than the message has") }
  }

  private static func open<Message: EventMessage, Outcome>(
    _: Message.Type, _ value: UnsafeRawBufferPointer?, _ headers: RecordHeaders,
    _ body: (UnsafeRawBufferPointer, RecordHeaders) throws(Rejection) -> Outcome
  ) throws(Rejection) -> Outcome {
    guard let value else { throw Rejection(.nullValue, "the value is null") }
    guard let first = value.first else { throw Rejection(.emptyValue, "the value is empty") }
    guard value.count <= Message.valueBytesMaximum else {
      throw Rejection(.tooLarge, "the value has \(value.count) bytes; \(Message.valueBytesMaximum) may be")
    }
    var contentType = headers.contentType
    if contentType == .absent, first == UInt8(ascii: "{") { contentType = .json }
    var mistakes = Mistakes()
    switch contentType {
    case .protobuf:
      checkEnvelope(Message.self, headers, &mistakes)
      return try finish(Message.self, value, headers, &mistakes, body)
    case .json: return try openJSON(Message.self, value, headers, body)
    case .cloudEventsJSON:
      let event = try StructuredEvent(value)
      let headers = event.headers(with: headers)
      checkEnvelope(Message.self, headers, &mistakes)
      let bytes = event.protobuf(schemaName: Message.schemaName, &mistakes)
      return try withBytes(bytes) { bytes throws(Rejection) in
        try finish(Message.self, bytes, headers, &mistakes, body)
      }
    case .absent, .unknown:
      throw Rejection(
        .unknownContentType,
        "content-type is none of application/protobuf, application/json, application/cloudevents+json")
    }
  }

  private static func openJSON<Message: EventMessage, Outcome>(
    _: Message.Type, _ value: UnsafeRawBufferPointer, _ headers: RecordHeaders,
    _ body: (UnsafeRawBufferPointer, RecordHeaders) throws(Rejection) -> Outcome
  ) throws(Rejection) -> Outcome {
    var headers = headers
    var mistakes = Mistakes()
    if headers.hasEnvelope || !Message.isWrittenByClients {
      checkEnvelope(Message.self, headers, &mistakes)
    } else {
      if let problem = headers.problem { mistakes.add(problem) }
      // Fed by hand: the value is its own identity, so the same line twice is the same event.
      headers.idHash = SoftwareSHA256.hash64(value)
    }
    let json: JSONValue
    do { json = try ProtobufJSON.value(value) } catch {
      mistakes.add(error)
      throw mistakes.thrown
    }
    let bytes = ProtobufJSON.protobuf(from: json, schemaName: Message.schemaName, &mistakes)
    return try withBytes(bytes) { bytes throws(Rejection) in
      try finish(Message.self, bytes, headers, &mistakes, body)
    }
  }

  /// Calls `body`, or, where there are mistakes already, tells them with those of the fields.
  @inline(__always)
  private static func finish<Message: EventMessage, Outcome>(
    _: Message.Type, _ bytes: UnsafeRawBufferPointer, _ headers: RecordHeaders, _ mistakes: inout Mistakes,
    _ body: (UnsafeRawBufferPointer, RecordHeaders) throws(Rejection) -> Outcome
  ) throws(Rejection) -> Outcome {
    guard !mistakes.isEmpty else { return try body(bytes, headers) }
    // The fields of another type's message say nothing.
    if case .known(let type) = headers.type, !Message.eventTypes.contains(type) { throw mistakes.thrown }
    do { _ = try Message.read(bytes, headers: headers) } catch { mistakes.add(error) }
    throw mistakes.thrown
  }

  private static func checkEnvelope<Message: EventMessage>(
    _: Message.Type, _ headers: RecordHeaders, _ mistakes: inout Mistakes
  ) {
    if let problem = headers.problem { mistakes.add(problem) }
    func add(_ sentence: String) { mistakes.add(Rejection(.invalidEnvelope, sentence)) }
    if headers.idHash == nil { add("ce_id is missing") }
    if !headers.hasSource { add("ce_source is missing or empty") }
    if headers.isSpecVersionKnown != true { add("ce_specversion is not 1.0") }
    switch headers.type {
    case .absent: add("ce_type is missing")
    case .known(let type) where Message.eventTypes.contains(type): break
    case .known:
      mistakes.add(Rejection(.unknownType, "ce_type belongs to another topic: \(permittedTypes(Message.self))"))
    case .unknown: mistakes.add(Rejection(.unknownType, "ce_type is unknown: \(permittedTypes(Message.self))"))
    }
  }

  private static func permittedTypes<Message: EventMessage>(_: Message.Type) -> String {
    let names = Message.eventTypes.map { "\($0.name)" }.sorted()
    return "this topic takes " + names.joined(separator: ", ")
  }

  private static func withBytes<Outcome>(
    _ bytes: [UInt8], _ body: (UnsafeRawBufferPointer) throws(Rejection) -> Outcome
  ) throws(Rejection) -> Outcome {
    let result: Result<Outcome, Rejection> = bytes.withUnsafeBytes { buffer in
      do throws(Rejection) { return .success(try body(buffer)) } catch { return .failure(error) }
    }
    return try result.get()
  }
}
