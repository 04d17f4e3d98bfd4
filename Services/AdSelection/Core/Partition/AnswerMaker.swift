internal import AdCore
internal import AdEvents
internal import Pipeline

/// Makes the messages that answer requests. They go to the app's own topic, made from the app's id, so that a broker's
/// access rules keep one app from reading another's tokens.
struct AnswerMaker {
  /// Apps whose unchanging headers are kept; beyond it all are made anew.
  private static let appsMaximum = 10_000

  private var makers: [AppID: MessageMaker] = [:]

  /// The answer to `request`: its correlation id comes back unchanged. The request's id is the event's: the same answer
  /// again is the same event.
  mutating func message(_ outcome: AdResponse.Outcome, to request: AdRequest, now: Timestamp) -> OutgoingMessage {
    var message = maker(of: request.app).message(
      AdResponse(requestID: request.requestID, outcome: outcome), id: request.requestID.description, time: now,
      partition: request.replyPartition, key: request.requestID.bytes)
    if !request.correlationID.isEmpty {
      message.headers.append(RecordHeader("kafka_correlationId", request.correlationID))
    }
    return message
  }

  private mutating func maker(of app: AppID) -> MessageMaker {
    if let maker = makers[app] { return maker }
    if makers.count >= AnswerMaker.appsMaximum { makers.removeAll() }
    let maker = MessageMaker(topic: Topic.responses(for: app), type: .adResponded, source: AdSelection.source)
    makers[app] = maker
    return maker
  }
}
