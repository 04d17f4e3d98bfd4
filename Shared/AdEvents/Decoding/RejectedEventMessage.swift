internal import AdBasics

extension RejectedEvent: EventMessage {
  package static var schemaName: String { "handbill.v1.RejectedEvent" }
  package static var eventTypes: [EventType] { [.eventRejected] }
  package static var isWrittenByClients: Bool { false }
  package var eventType: EventType { .eventRejected }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> RejectedEvent {
    var event = RejectedEvent(
      reason: .malformed, detail: "", topic: "", partition: 0, offset: 0, service: "",
      arrival: Timestamp(milliseconds: 0), value: [], valueLength: 0, valueHash: [])
    var reason: RejectionReason?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: reason = try reader.choice("reason")
      case 2: event.detail = try reader.text("detail", maximum: FieldLimits.detailBytesMaximum)
      case 3: event.topic = try reader.text("topic", maximum: FieldLimits.topicBytesMaximum)
      case 4: event.partition = Int32(try reader.integer("partition", in: 0...Int64(Int32.max)))
      case 5: event.offset = try reader.integer("offset", in: 0...Int64.max)
      case 6: event.service = try reader.text("service", maximum: FieldLimits.nameBytesMaximum)
      case 7: event.arrival = try reader.timestamp("arrival_milliseconds")
      case 8: event.value = Array(try reader.bytes("value", maximum: FieldLimits.rejectedValueBytesMaximum))
      case 9: event.valueLength = try reader.zigzag()
      case 10: event.valueHash = Array(try reader.bytes("value_hash", maximum: 32))
      default: try reader.skip()
      }
    }
    event.reason = try FieldValue.required(reason, "reason")
    guard event.valueLength >= -1 else { throw Rejection(.invalidField, "value_length is out of range") }
    return event
  }

  package func write(to writer: inout WireWriter) {
    writer.unsigned(1, UInt64(reason.rawValue))
    writer.text(2, detail)
    writer.text(3, topic)
    writer.signed(4, Int64(partition))
    writer.signed(5, offset)
    writer.text(6, service)
    writer.signed(7, arrival.milliseconds)
    writer.bytes(8, value)
    writer.zigzag(9, valueLength)
    writer.bytes(10, valueHash)
  }
}
