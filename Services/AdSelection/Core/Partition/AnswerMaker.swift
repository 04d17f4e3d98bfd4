internal import AdCore
internal import AdEvents
internal import Pipeline
internal import Records

/// Makes the messages that answer requests. They go to the app's own topic, made from the app's id, so that a broker's
/// access rules keep one app from reading another's tokens; those to what came by the edge go to the edge's.
enum AnswerMaker {
  /// The headers that never change are the same in all topics.
  private static let maker = MessageMaker(topic: Topic.edgeResponses, type: .adResponded, source: AdSelection.source)

  /// The answer to a request, in the form that the request has; its correlation id comes back unchanged. The request's
  /// id is the event's: the same answer again is the same event.
  static func message(
    _ outcome: AdResponse.Outcome, to address: ReplyAddress, partition: Int32, now: Timestamp
  ) -> OutgoingMessage {
    var message = maker.message(
      AdResponse(requestID: address.requestID, outcome: outcome), id: address.requestID.description, time: now,
      partition: partition, key: address.requestID.utf8, isJSON: address.isJSON)
    message.topic = address.answerTopic
    if !address.correlationID.isEmpty {
      message.headers.append(RecordHeader("kafka_correlationId", address.correlationID))
    }
    return message
  }
}

/// Where the answer to a request is to go, and in which form.
struct ReplyAddress: Hashable, Sendable {
  let requestID: UUIDv7
  let app: AppID
  /// As the header says; nil where it says no number.
  let partition: Int32?
  /// As the header says; empty without one.
  let topic: String
  let correlationID: [UInt8]
  /// In protobuf's JSON mapping, not in protobuf.
  let isJSON: Bool
  /// It came by the edge, under the edge's mark: nobody else gets answers there.
  let isOfEdge: Bool
  /// The request named a client id: whoever asks goes by it, unless the answer says that it was not taken.
  let hasClientID: Bool

  init(_ request: LegibleRequest, isJSON: Bool, isOfEdge: Bool) {
    self.isJSON = isJSON
    self.isOfEdge = isOfEdge
    requestID = request.requestID
    app = request.app
    partition = request.replyPartition
    topic = request.replyTopic
    correlationID = request.correlationID
    hasClientID = !request.clientID.isEmpty
  }

  /// The topic of the app's answers, whatever the header says, or the edge's.
  var answerTopic: String { isOfEdge ? Topic.edgeResponses : Topic.responses(for: app) }

  /// What is wrong with where the answer is to go; nil where nothing is. The header must not name another topic than the
  /// answer goes to.
  func mistake(partitionCount: Int32) -> Rejection? {
    if !topic.isEmpty, topic != answerTopic {
      return Rejection(.invalidReply, "kafka_replyTopic is not \(answerTopic), the topic of the app's answers")
    }
    guard let partition, (0..<partitionCount).contains(partition) else {
      return Rejection(
        .invalidReply,
        "kafka_replyPartition is not one of 0 to \(partitionCount - 1); so this answer stands in partition 0")
    }
    return nil
  }

  /// The partition that the answer goes to. Where the header names none that exists, it is the first: a producer must
  /// never name one that does not exist, and whoever looks for the answer finds it there.
  func answerPartition(of count: Int32) -> Int32 {
    guard let partition, (0..<count).contains(partition) else { return 0 }
    return partition
  }
}
