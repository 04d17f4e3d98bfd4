import AdCore
import AdEvents
import Kafka

/// What the decoder alone says of a record: where it refuses it, so must the service.
enum StrangerExpectation {
  /// The reason; nil where more than decoding decides.
  static func reason(of record: StrangerRecord) -> RejectionReason? {
    // Whatever it says: no stranger has the network's keys.
    if record.topic.isAuthenticated { return .macWrong }
    let headers = headers(of: record)
    return switch record.topic {
    case .requests: reason(AdRequest.self, record.value, headers)
    case .impressions: reason(ImpressionEvent.self, record.value, headers)
    case .clicks: reason(ClickEvent.self, record.value, headers)
    case .catalog: reason(CatalogMessage.self, record.value, headers)
    default: nil
    }
  }

  /// Whether it is a bad request that says which client it is of: it may be sent on to that client's partition, and is
  /// rejected there.
  static func isOfClient(_ record: StrangerRecord) -> Bool {
    guard record.topic == .requests, let value = record.value else { return false }
    let headers = headers(of: record)
    let outcome = value.withUnsafeBytes { AdRequest.decodeLegibly(value: $0, headers: headers) }
    guard case .failure(let rejected) = outcome else { return false }
    return rejected.legible?.clientKey != nil
  }

  private static func headers(of record: StrangerRecord) -> RecordHeaders {
    var headers = RecordHeaders()
    // Later ones are handed to nobody.
    for header in record.headers.prefix(KafkaRecordView.headersMaximum) { headers.add(header) }
    return headers
  }

  private static func reason<Message: EventMessage>(
    _: Message.Type, _ value: [UInt8]?, _ headers: RecordHeaders
  ) -> RejectionReason? {
    let outcome =
      value?.withUnsafeBytes { Message.decode(value: $0, headers: headers) }
      ?? Message.decode(value: nil, headers: headers)
    guard case .failure(let rejection) = outcome else { return nil }
    return rejection.reason
  }
}
