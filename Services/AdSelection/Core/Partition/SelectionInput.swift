package import AdCore
package import AdEvents
internal import Pipeline
internal import Records

/// What a record of ad selection's inputs says.
package enum SelectionInput: RejectableEvent {
  /// `ads.requests`.
  case request(IncomingRequest)
  /// `ads.budgets`: a piece of budget for this partition.
  case grant(AllotmentGrant)
  /// `ads.budgets`: an ask is not granted now.
  case refusal(AllotmentRefusal)
  /// `ads.budgets`: a watermark; nothing here waits for one.
  case watermark
  /// Nobody can be answered.
  case rejected(Rejection)
}

/// A request with what is worked out of it where it is decoded.
package struct IncomingRequest: Sendable {
  package enum Content: Sendable {
    case sound(AdRequest)
    /// A rejected record, of which so much can be read that it is answered.
    case mistaken(LegibleRequest, Rejection)
  }

  package var content: Content
  /// SHA-256 of the app key; nil where there is none to be read.
  package var appKeyHash: [UInt8]?
  /// The keyed hash of the client id, else of the session id (A8).
  package var clientHash: UInt64
  /// The record's value: what a forwarding mark binds.
  package var payload: [UInt8]
  /// It came in JSON; so its answer does. Nothing of this is stored: whoever asks again says it again.
  package var isJSON: Bool
  /// The forwarding mark that came with it; empty without one.
  package var mark: [UInt8]
  /// What the edge saw of whoever asks; nil where it did not come by the edge.
  package var sight: EdgeSight?

  package init(
    content: Content, appKeyHash: [UInt8]?, clientHash: UInt64, payload: [UInt8], isJSON: Bool, mark: [UInt8],
    sight: EdgeSight? = nil
  ) {
    self.content = content
    self.appKeyHash = appKeyHash
    self.clientHash = clientHash
    self.payload = payload
    self.isJSON = isJSON
    self.mark = mark
    self.sight = sight
  }

  /// The partition that a request belongs to: of the client id, else of the session id, as Kafka's clients hash keys. Nil
  /// where a mistake leaves nobody to belong to: such a request is decided where it lies.
  package func partition(count: Int32) -> Int32? {
    switch content {
    case .sound(let request): KafkaPartition.of(key: request.clientKey, count: count)
    case .mistaken(let request, _): request.clientKey.map { KafkaPartition.of(key: $0, count: count) }
    }
  }

  /// Who asks, as it is stored.
  package func asked(partition: Int32, arrival: Timestamp) -> AskedRequest {
    AskedRequest(legible, clientHash: clientHash, partition: partition, arrival: arrival, sight: sight)
  }

  /// Where the answer goes, and in which form.
  var reply: ReplyAddress { ReplyAddress(legible, isJSON: isJSON, isOfEdge: sight != nil) }

  /// The same with a mistake that only its partition could tell, if it has no other.
  func with(_ mistake: Rejection?) -> IncomingRequest {
    guard let mistake, case .sound = content else { return self }
    var mistaken = self
    mistaken.content = .mistaken(legible, mistake)
    return mistaken
  }

  /// What it says of its app.
  var app: AppID {
    switch content {
    case .sound(let request): request.app
    case .mistaken(let request, _): request.app
    }
  }

  /// Without what nobody takes of an app's users under 17, whatever it sends (A4, A8): the segments, the client id, and the
  /// hash of the network. The session stands for the client.
  func withoutUser(sessionHash: UInt64) -> IncomingRequest {
    var anonymous = self
    anonymous.clientHash = sessionHash
    anonymous.sight?.network = nil
    switch content {
    case .sound(var request):
      (request.clientID, request.segments) = ("", [])
      anonymous.content = .sound(request)
    case .mistaken(var request, let rejection):
      request.clientID = ""
      anonymous.content = .mistaken(request, rejection)
    }
    return anonymous
  }

  /// What can be read of it.
  var legible: LegibleRequest {
    switch content {
    case .sound(let request): LegibleRequest(request)
    case .mistaken(let request, _): request
    }
  }
}
