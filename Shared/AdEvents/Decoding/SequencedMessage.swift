internal import AdCore

/// What stands in a topic with sequences, beside its watermarks.
package protocol SequencedContent: Hashable, Sendable {
  /// The schema's name of the record: `sequence = 1`, then a oneof of the content (2) and a watermark (3).
  static var recordSchemaName: String { get }
  static var recordEventType: EventType { get }
  static func readContent(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> Self
  func writeContent(to writer: inout WireWriter)
}

extension Sequenced: EventMessage where Content: SequencedContent {
  package static var schemaName: String { Content.recordSchemaName }
  package static var eventTypes: [EventType] { [Content.recordEventType, .watermarkPassed] }
  package static var isWrittenByClients: Bool { false }

  package var eventType: EventType {
    switch self {
    case .record: Content.recordEventType
    case .watermark: .watermarkPassed
    }
  }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> Sequenced<Content> {
    var sequence: Int64 = 0
    var content: Content?
    var watermark: Watermark?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: sequence = try reader.integer("sequence", in: 0...Int64.max)
      case 2:
        content = try Content.readContent(try reader.bytes())
        watermark = nil
      case 3:
        watermark = try CommonFields.watermark(try reader.bytes())
        content = nil
      default: try reader.skip()
      }
    }
    if let watermark { return .watermark(watermark) }
    let checked = try FieldValue.required(content, "content")
    guard sequence > 0 else { throw Rejection(.missingField, "sequence is missing") }
    return .record(sequence: sequence, checked)
  }

  package func write(to writer: inout WireWriter) {
    switch self {
    case .record(let sequence, let content):
      writer.signed(1, sequence)
      writer.message(2) { content.writeContent(to: &$0) }
    case .watermark(let watermark):
      writer.message(3) { CommonFields.write(watermark, to: &$0) }
    }
  }
}

extension AcceptedImpression: SequencedContent {
  package static var recordSchemaName: String { "handbill.v1.AcceptedImpressionRecord" }
  package static var recordEventType: EventType { .impressionAccepted }

  package static func readContent(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> AcceptedImpression {
    var terms: ServedTerms?
    var eventTime = Timestamp(milliseconds: 0)
    var arrival = Timestamp(milliseconds: 0)
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: terms = try ServedTermsFields.read(try reader.bytes())
      case 2: eventTime = try reader.timestamp("event_time_milliseconds")
      case 3: arrival = try reader.timestamp("arrival_milliseconds")
      default: try reader.skip()
      }
    }
    return AcceptedImpression(
      terms: try FieldValue.required(terms, "terms"), eventTime: eventTime, arrival: arrival)
  }

  package func writeContent(to writer: inout WireWriter) {
    writer.message(1) { ServedTermsFields.write(terms, to: &$0) }
    writer.signed(2, eventTime.milliseconds)
    writer.signed(3, arrival.milliseconds)
  }
}

extension AcceptedClick: SequencedContent {
  package static var recordSchemaName: String { "handbill.v1.AcceptedClickRecord" }
  package static var recordEventType: EventType { .clickAccepted }

  package static func readContent(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> AcceptedClick {
    var terms: ServedTerms?
    var idHash: UInt64 = 0
    var eventTime = Timestamp(milliseconds: 0)
    var arrival = Timestamp(milliseconds: 0)
    var verdict: ClickVerdict?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: terms = try ServedTermsFields.read(try reader.bytes())
      case 2: idHash = try reader.fixed64()
      case 3: eventTime = try reader.timestamp("event_time_milliseconds")
      case 4: arrival = try reader.timestamp("arrival_milliseconds")
      case 5: verdict = try reader.choice("verdict")
      default: try reader.skip()
      }
    }
    return AcceptedClick(
      terms: try FieldValue.required(terms, "terms"), idHash: idHash, eventTime: eventTime, arrival: arrival,
      verdict: try FieldValue.required(verdict, "verdict"))
  }

  package func writeContent(to writer: inout WireWriter) {
    writer.message(1) { ServedTermsFields.write(terms, to: &$0) }
    writer.fixed64(2, idHash)
    writer.signed(3, eventTime.milliseconds)
    writer.signed(4, arrival.milliseconds)
    writer.unsigned(5, UInt64(verdict.rawValue))
  }
}
