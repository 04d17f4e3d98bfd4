import AdCore
import AdEvents

/// What can be read of a request that is rejected keeps the limits that a sound one keeps: it is answered and counted.
enum LegibleLimits {
  static func fault(_ value: UnsafeRawBufferPointer?, _ headers: RecordHeaders) -> String? {
    let outcome = AdRequest.decode(value: value, headers: headers)
    switch (outcome, AdRequest.decodeLegibly(value: value, headers: headers)) {
    case (.success(let request), .success(let again)) where request == again:
      return fault(in: LegibleRequest(request))
    case (.failure(let rejection), .failure(let rejected)) where rejection == rejected.rejection:
      return rejected.legible.flatMap(fault)
    default: return "read with what is legible it has another outcome"
    }
  }

  private static func fault(in request: LegibleRequest) -> String? {
    if let fault = DecodedLimits.fault(in: request) { return fault }
    func isText(_ text: String, _ bytes: ClosedRange<Int>) -> Bool {
      bytes.contains(text.utf8.count) && !text.utf8.contains(0)
    }
    let isRight =
      isText(request.clientID, 0...FieldLimits.clientIDBytesMaximum)
      && isText(request.sessionID, 0...FieldLimits.clientIDBytesMaximum)
      && isText(request.replyTopic, 0...FieldLimits.topicBytesMaximum)
      && request.correlationID.count <= FieldLimits.correlationIDBytesMaximum
      && request.appKey.map { isText($0, 1...FieldLimits.appKeyBytesMaximum) } ?? true
      && request.clientKey.map { $0 == request.clientID || request.clientID.isEmpty && $0 == request.sessionID } ?? true
      && request.clientKey?.isEmpty != true
      && request.deadlineMilliseconds.map(FieldLimits.deadlineMilliseconds.contains) ?? true
    return isRight ? nil : "what is legible of it is beyond its limits: \(request)"
  }
}
