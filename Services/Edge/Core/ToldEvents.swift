internal import AdCore
package import AdEvents
internal import Records

/// A body of POST /v1/events of which is known whose it is: of its events none has been read.
package struct UnreadEvents: Sendable {
  package let appKey: String
  /// The client id, else the session id: the key of its records.
  package let clientKey: String
  /// The answer is in JSON, as the body is.
  package let isJSON: Bool
  private let content: Content

  private enum Content: Sendable {
    case batch(EventBatch)
    /// A list of CloudEvents.
    case list([UInt8])
    /// A CloudEvent, with the headers of its record.
    case one(value: [UInt8], headers: [RecordHeader], id: String)
  }

  static let attributeNames = ["ce-specversion", "ce-id", "ce-type", "ce-source", "ce-time"]
  /// Where CloudEvents have no place for what a batch says of itself.
  package static let appKeyHeader = "handbill-app-key"
  package static let clientKeyHeader = "handbill-client-key"

  /// - Parameter header: a header's value by its name in lower case.
  package init(_ body: [UInt8], header: (String) -> String?) throws(EdgeRefusal) {
    guard let form = BodyForm(header("content-type") ?? "") else {
      throw .unknownContent(detail: BodyForm.permitted + ", application/cloudevents-batch+json")
    }
    isJSON = form != .protobuf
    guard form == .cloudEvent || form == .cloudEventList || header("ce-type") != nil else {
      let batch = try EventBatch.read(body, isJSON: isJSON).mapError(EdgeRefusal.rejected).get()
      (appKey, clientKey, content) = (batch.appKey, batch.clientKey, .batch(batch))
      return
    }
    guard let appKey = Self.key(header, Self.appKeyHeader, FieldLimits.appKeyBytesMaximum),
      let clientKey = Self.key(header, Self.clientKeyHeader, FieldLimits.clientIDBytesMaximum)
    else {
      throw .rejected(
        Rejection(
          .missingField, "a CloudEvent comes with headers \(Self.appKeyHeader) and \(Self.clientKeyHeader)"))
    }
    self.appKey = appKey
    self.clientKey = clientKey
    content = form == .cloudEventList ? .list(body) : Self.one(body, form, header)
  }

  private static func one(_ body: [UInt8], _ form: BodyForm, _ header: (String) -> String?) -> Content {
    var headers = [RecordHeader("content-type", form.contentType)]
    for name in attributeNames {
      if let value = header(name) { headers.append(RecordHeader(name.replacing("-", with: "_"), value)) }
    }
    let id = (header("ce-id") ?? "").beginning(bytesMaximum: DeviceEvent.idBytesMaximum)
    return .one(value: body, headers: headers, id: id)
  }

  private static func key(_ header: (String) -> String?, _ name: String, _ bytesMaximum: Int) -> String? {
    header(name).flatMap { (1...bytesMaximum).contains($0.utf8.count) ? $0 : nil }
  }

  /// Reads the events.
  ///
  /// - Parameter admit: told how many there are, before any is read.
  package func read(admit: (_ count: Int) throws(EdgeRefusal) -> Void) throws(EdgeRefusal) -> ToldEvents {
    let events: [Result<DeviceEvent, RefusedDeviceEvent>]
    switch content {
    case .batch(let batch):
      try admit(batch.eventCount)
      events = batch.read(source: "/client")
    case .list(let body):
      let list = try CloudEventList.read(body).mapError(EdgeRefusal.rejected).get()
      try admit(list.count)
      events = list.events()
    case .one(let value, let headers, let id):
      try admit(1)
      let event = DeviceEvent.cloudEvent(headers: headers, value: value)
      events = [event.mapError { RefusedDeviceEvent(id: id, rejection: $0) }]
    }
    return ToldEvents(events: events, isJSON: isJSON)
  }
}

/// A body of POST /v1/events, read.
package struct ToldEvents: Sendable {
  package let events: [Result<DeviceEvent, RefusedDeviceEvent>]
  /// The answer is in JSON, as the body was.
  package let isJSON: Bool

  /// The largest body, in bytes, after it is unpacked.
  package static let bodyBytesMaximum = 262_144

  /// What became of it once the network has all that is an event.
  package var result: EventBatchResult {
    var refused: [EventBatchResult.Refused] = []
    for (index, event) in events.enumerated() {
      if case .failure(let each) = event { refused.append(EventBatchResult.Refused(index: index, event: each)) }
    }
    return EventBatchResult(acceptedCount: events.count - refused.count, refused: refused)
  }
}
