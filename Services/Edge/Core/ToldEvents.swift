internal import AdCore
package import AdEvents
internal import Records

/// A body of POST /v1/events, read.
package struct ToldEvents: Sendable {
  package let batch: EventBatch
  /// The answer is in JSON, as the body was.
  package let isJSON: Bool

  /// The largest body, in bytes, after it is unpacked.
  package static let bodyBytesMaximum = 262_144
  static let attributeNames = ["ce-specversion", "ce-id", "ce-type", "ce-source", "ce-time"]
  /// Where CloudEvents have no place for what a batch says of itself.
  package static let appKeyHeader = "handbill-app-key"
  package static let clientKeyHeader = "handbill-client-key"

  /// - Parameter header: a header's value by its name in lower case.
  package static func read(_ body: [UInt8], header: (String) -> String?) -> Result<ToldEvents, EdgeRefusal> {
    guard let form = BodyForm(header("content-type") ?? "") else {
      return .failure(.unknownContent(detail: BodyForm.permitted + ", application/cloudevents-batch+json"))
    }
    let isCloudEvent = form == .cloudEvent || form == .cloudEventList || header("ce-type") != nil
    let read = isCloudEvent ? cloudEvents(body, form, header) : batch(body, form)
    return read.mapError(EdgeRefusal.rejected).map { ToldEvents(batch: $0, isJSON: form != .protobuf) }
  }

  private static func batch(_ body: [UInt8], _ form: BodyForm) -> Result<EventBatch, Rejection> {
    EventBatch.read(body, isJSON: form == .json) { _ in "/client" }
  }

  private static func cloudEvents(
    _ body: [UInt8], _ form: BodyForm, _ header: (String) -> String?
  ) -> Result<EventBatch, Rejection> {
    guard let appKey = key(header, appKeyHeader, FieldLimits.appKeyBytesMaximum),
      let clientKey = key(header, clientKeyHeader, FieldLimits.clientIDBytesMaximum)
    else {
      return .failure(
        Rejection(.missingField, "a CloudEvent comes with headers \(appKeyHeader) and \(clientKeyHeader)"))
    }
    let events: Result<[Result<DeviceEvent, RefusedDeviceEvent>], Rejection> =
      form == .cloudEventList ? CloudEventList.read(body) : .success([one(body, form, header)])
    return events.map { EventBatch(appKey: appKey, clientKey: clientKey, events: $0) }
  }

  private static func one(
    _ body: [UInt8], _ form: BodyForm, _ header: (String) -> String?
  ) -> Result<DeviceEvent, RefusedDeviceEvent> {
    var headers = [RecordHeader("content-type", form.contentType)]
    for name in attributeNames {
      if let value = header(name) { headers.append(RecordHeader(name.replacing("-", with: "_"), value)) }
    }
    return DeviceEvent.cloudEvent(headers: headers, value: body).mapError {
      let id = (header("ce-id") ?? "").beginning(bytesMaximum: DeviceEvent.idBytesMaximum)
      return RefusedDeviceEvent(id: id, rejection: $0)
    }
  }

  private static func key(_ header: (String) -> String?, _ name: String, _ bytesMaximum: Int) -> String? {
    header(name).flatMap { (1...bytesMaximum).contains($0.utf8.count) ? $0 : nil }
  }

  /// What became of it once the network has all that is an event.
  package var result: EventBatchResult {
    var refused: [EventBatchResult.Refused] = []
    for (index, event) in batch.events.enumerated() {
      if case .failure(let each) = event { refused.append(EventBatchResult.Refused(index: index, event: each)) }
    }
    return EventBatchResult(acceptedCount: batch.events.count - refused.count, refused: refused)
  }
}
