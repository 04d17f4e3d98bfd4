internal import AdBasics
internal import AdClient
internal import AdEvents
internal import Kafka
internal import Records

/// A record as it is sent, however often: the bytes and headers are made once.
struct EncodedRecord: Sendable {
  let topic: String
  /// The client id, else the session id: also Kafka's key, so that the usual partitioner agrees with ours.
  let partitionKey: String
  let value: [UInt8]
  let headers: [RecordHeader]

  /// For the queue's limit.
  var bytes: Int {
    headers.reduce(value.count + partitionKey.utf8.count) { $0 + $1.name.count + ($1.value?.count ?? 0) }
  }

  init(_ event: OutgoingEvent) {
    let encoded = event.encoded
    topic = (encoded.isClick ? Topic.clicks : Topic.impressions).name
    partitionKey = event.partitionKey
    value = encoded.value
    headers = EncodedRecord.envelope(encoded.type, id: event.id, app: event.app, time: event.time)
  }

  /// A request; the answer comes to `replyPartition` of the app's topic.
  init(_ request: AdRequest, replyPartition: Int32, time: Timestamp) {
    topic = Topic.requests.name
    partitionKey = request.clientID.isEmpty ? request.sessionID : request.clientID
    value = request.encoded()
    headers =
      EncodedRecord.envelope(request.eventType, id: request.requestID, app: request.app, time: time)
      + CloudEventHeaders.reply(
        topic: Topic.responses(for: request.app), partition: replyPartition,
        correlationID: EncodedRecord.correlationID(request.requestID))
  }

  private static func envelope(_ type: EventType, id: UUIDv7, app: AppID, time: Timestamp) -> [RecordHeader] {
    CloudEventHeaders(type: type, source: "/client/\(app)").headers(id: id.description, time: time)
  }

  /// A request's id as its correlation id: text, because readers of CloudEvents take every header as UTF-8.
  static func correlationID(_ id: UUIDv7) -> [UInt8] { id.utf8 }

  /// The reverse; nil for what is none of ours.
  static func requestID(correlationID bytes: [UInt8]) -> UUIDv7? { UUIDv7(String(decoding: bytes, as: UTF8.self)) }
}
