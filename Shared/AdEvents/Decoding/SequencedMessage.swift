package import AdBasics

/// An accepted event of either kind, as runs hold them.
package struct RunEvent: Hashable, Sendable {
  package var terms: ServedTerms
  package var eventTime: Timestamp
  package var arrival: Timestamp
  /// Of a click; else 0.
  package var idHash: UInt64 = 0
  /// Of a click.
  package var verdict: ClickVerdict?
}

/// What stands in a topic of accepted events, beside its watermarks.
package protocol SequencedContent: Hashable, Sendable {
  /// The schema's name of the record: a oneof of a run (1) and a watermark (2).
  static var recordSchemaName: String { get }
  static var recordEventType: EventType { get }
  init(_ event: RunEvent) throws(Rejection)
  var runEvent: RunEvent { get }
}

extension Sequenced: EventMessage where Content: SequencedContent {
  package static var schemaName: String { Content.recordSchemaName }
  package static var eventTypes: [EventType] { [Content.recordEventType, .watermarkPassed] }
  package static var isWrittenByClients: Bool { false }
  package static var valueBytesMaximum: Int { RunLimits.bytesMaximum }

  package var eventType: EventType {
    switch self {
    case .run: Content.recordEventType
    case .watermark: .watermarkPassed
    }
  }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> Sequenced<Content> {
    var run: UnsafeRawBufferPointer?
    var watermark: Watermark?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1:
        run = try reader.bytes()
        watermark = nil
      case 2:
        watermark = try CommonFields.watermark(try reader.bytes())
        run = nil
      default: try reader.skip()
      }
    }
    if let watermark { return .watermark(watermark) }
    return .run(try RunFields.read(try FieldValue.required(run, "content")))
  }

  package func write(to writer: inout WireWriter) {
    switch self {
    case .run(let run):
      var encoder = RunEncoder(first: run.first)
      for event in run.events { encoder.append(event.runEvent) }
      encoder.write(to: &writer)
    case .watermark(let watermark):
      writer.message(2) { CommonFields.write(watermark, to: &$0) }
    }
  }
}

/// Records of accepted events. Here, and not only where they are read, so that the reading is compiled for these types:
/// it takes one record for many events, and each event its share of the time.
package enum AcceptedRecords {
  package static func impressions(
    value: UnsafeRawBufferPointer?, headers: RecordHeaders
  ) -> Result<Sequenced<AcceptedImpression>, Rejection> {
    Sequenced<AcceptedImpression>.decode(value: value, headers: headers)
  }

  package static func clicks(
    value: UnsafeRawBufferPointer?, headers: RecordHeaders
  ) -> Result<Sequenced<AcceptedClick>, Rejection> {
    Sequenced<AcceptedClick>.decode(value: value, headers: headers)
  }
}

extension AcceptedImpression: SequencedContent {
  package static var recordSchemaName: String { "handbill.v1.AcceptedImpressionRecord" }
  package static var recordEventType: EventType { .impressionAccepted }

  package init(_ event: RunEvent) {
    self.init(terms: event.terms, eventTime: event.eventTime, arrival: event.arrival)
  }

  package var runEvent: RunEvent { RunEvent(terms: terms, eventTime: eventTime, arrival: arrival) }
}

extension AcceptedClick: SequencedContent {
  package static var recordSchemaName: String { "handbill.v1.AcceptedClickRecord" }
  package static var recordEventType: EventType { .clickAccepted }

  package init(_ event: RunEvent) throws(Rejection) {
    self.init(
      terms: event.terms, idHash: event.idHash, eventTime: event.eventTime, arrival: event.arrival,
      verdict: try FieldValue.required(event.verdict, "verdict"))
  }

  package var runEvent: RunEvent {
    RunEvent(terms: terms, eventTime: eventTime, arrival: arrival, idHash: idHash, verdict: verdict)
  }
}
