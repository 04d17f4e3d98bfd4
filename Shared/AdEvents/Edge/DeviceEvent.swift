internal import AdBasics
package import Records

/// An event as a device tells it to the edge, checked and ready for its topic.
package struct DeviceEvent: Hashable, Sendable {
  /// ``Topic/impressions`` or ``Topic/clicks``.
  package let topic: Topic
  package let value: [UInt8]
  /// CloudEvents' attributes and the content type, as on Kafka.
  package let headers: [RecordHeader]

  /// The longest id of an event in a batch, in bytes.
  package static let idBytesMaximum = 128

  /// An event that comes as a CloudEvent: held to the rules that a record with these headers and this value is held to.
  package static func cloudEvent(
    headers: [RecordHeader], value: [UInt8]
  ) -> Result<DeviceEvent, Rejection> {
    var read = RecordHeaders()
    for header in headers { read.add(header) }
    return value.withUnsafeBytes { bytes in
      do throws(Rejection) {
        try checkSize(bytes)
        let type =
          try read.contentType == .cloudEventsJSON ? StructuredEvent(bytes).headers(with: read).type : read.type
        let topic = try topic(of: type)
        try check(bytes, read, topic)
        return .success(DeviceEvent(topic: topic, value: value, headers: headers))
      } catch { return .failure(error) }
    }
  }

  /// Before anything of it is read.
  private static func checkSize(_ value: UnsafeRawBufferPointer) throws(Rejection) {
    guard value.count <= FieldLimits.clientValueBytesMaximum else {
      throw Rejection(.tooLarge, "the event has \(value.count) bytes; \(FieldLimits.clientValueBytesMaximum) may be")
    }
  }

  private static func topic(of type: RecordHeaders.TypeHeader) throws(Rejection) -> Topic {
    switch type {
    case .known(let type) where ImpressionEvent.eventTypes.contains(type): return .impressions
    case .known(let type) where ClickEvent.eventTypes.contains(type): return .clicks
    case .absent: throw Rejection(.invalidEnvelope, "ce-type is missing")
    case .known, .unknown: throw Rejection(.unknownType, "ce-type is none of an impression's or a click's")
    }
  }

  private static func check(
    _ value: UnsafeRawBufferPointer, _ headers: RecordHeaders, _ topic: Topic
  ) throws(Rejection) {
    if topic == .impressions {
      _ = try ImpressionEvent.decode(value: value, headers: headers).get()
    } else {
      _ = try ClickEvent.decode(value: value, headers: headers).get()
    }
  }
}

/// An event of a batch that is none.
package struct RefusedDeviceEvent: Error, Hashable, Sendable {
  /// Its id, where that can be read.
  package let id: String
  package let rejection: Rejection

  package init(id: String = "", rejection: Rejection) {
    self.id = id
    self.rejection = rejection
  }
}

// The message of a batch.
extension DeviceEvent {
  static let schemaName = "handbill.v1.DeviceEvent"

  /// Reads `handbill.v1.DeviceEvent`.
  ///
  /// - Parameter source: the `ce_source` that its record gets.
  static func read(_ bytes: UnsafeRawBufferPointer, source: String) -> Result<DeviceEvent, RefusedDeviceEvent> {
    var id = ""
    var time: Timestamp?
    var content: (topic: Topic, bytes: UnsafeRawBufferPointer)?
    var mistakes = Mistakes()
    mistakes.read(bytes) { (reader) throws(Rejection) in
      switch reader.field {
      case 1: id = try reader.text("id", maximum: idBytesMaximum)
      case 2:
        let moment = try reader.timestamp("time_milliseconds")
        time = moment.milliseconds == 0 ? nil : moment
      case 3: content = (.impressions, try reader.bytes())
      case 4: content = (.clicks, try reader.bytes())
      default: try reader.skip()
      }
    }
    id = mistakes.required(id, "id")
    if content == nil { mistakes.addMissing("content is missing") }
    guard mistakes.isEmpty, let content else {
      return .failure(RefusedDeviceEvent(id: id, rejection: mistakes.thrown))
    }
    do throws(Rejection) {
      return .success(try event(content.topic, content.bytes, id: id, time: time, source: source))
    } catch { return .failure(RefusedDeviceEvent(id: id, rejection: error)) }
  }

  private static func event(
    _ topic: Topic, _ bytes: UnsafeRawBufferPointer, id: String, time: Timestamp?, source: String
  ) throws(Rejection) -> DeviceEvent {
    guard !bytes.isEmpty else { throw Rejection(.emptyValue, "the event is empty") }
    try checkSize(bytes)
    var headers = [
      CloudEventHeaders.protobufType, RecordHeader("ce_specversion", "1.0"), RecordHeader("ce_id", id),
      RecordHeader("ce_source", source),
    ]
    if let time { headers.append(RecordHeader("ce_time", time.rfc3339)) }
    var read = RecordHeaders()
    for header in headers { read.add(header) }
    let type =
      try topic == .impressions
      ? ImpressionEvent.read(bytes, headers: read).eventType : ClickEvent.read(bytes, headers: read).eventType
    headers.append(RecordHeader("ce_type", "\(type.name)"))
    return DeviceEvent(topic: topic, value: Array(bytes), headers: headers)
  }
}
