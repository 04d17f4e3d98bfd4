package import AdBasics
package import AdEvents

/// An event on its way to the network: what it says, and the identity that it keeps over every sending.
package struct OutgoingEvent: Sendable {
  package enum Message: Sendable {
    case impression(ImpressionEvent)
    case click(ClickEvent)
    /// As it lay on the device's disk.
    case stored(EncodedEvent)
  }

  /// `ce_id`: made once, so that however often the event arrives it is one event.
  package let id: UUIDv7
  /// `ce_time`, by the device's wall clock; the network goes by the age (it may be wrong).
  package let time: Timestamp
  package let app: AppID
  /// What the ad was served to: the client id, or the session id where there was none or the network took none.
  package let partitionKey: String
  package let message: Message

  package init(id: UUIDv7, time: Timestamp, app: AppID, partitionKey: String, message: Message) {
    self.id = id
    self.time = time
    self.app = app
    self.partitionKey = partitionKey
    self.message = message
  }

  /// The event's bytes, and what they are.
  package var encoded: EncodedEvent {
    switch message {
    case .impression(let event): EncodedEvent(type: event.eventType, value: event.encoded())
    case .click(let event): EncodedEvent(type: event.eventType, value: event.encoded())
    case .stored(let event): event
    }
  }
}

extension OutgoingEvent {
  /// What it says, also where it lay on the disk; `stored` only for bytes that are no event.
  package var opened: Message {
    guard case .stored(let stored) = message else { return message }
    var headers = RecordHeaders()
    let envelope = CloudEventHeaders(type: stored.type, source: "/client/\(app)")
    for header in envelope.headers(id: id.description, time: time) { headers.add(header) }
    return stored.value.withUnsafeBytes { bytes in
      if stored.isClick { return (try? ClickEvent.decode(value: bytes, headers: headers).get()).map { .click($0) } }
      return (try? ImpressionEvent.decode(value: bytes, headers: headers).get()).map { .impression($0) }
    } ?? message
  }
}

/// An event as it travels.
package struct EncodedEvent: Hashable, Sendable {
  package let type: EventType
  /// The protobuf form.
  package let value: [UInt8]

  package init(type: EventType, value: [UInt8]) {
    self.type = type
    self.value = value
  }

  /// Whether it goes to `ads.clicks`, else to `ads.impressions`.
  package var isClick: Bool { ClickEvent.eventTypes.contains(type) }
}

/// How an event's way ended.
package enum EventEnd: Hashable, Sendable {
  /// The network has it.
  case acknowledged
  /// The network will never take it, for a reason that the log has.
  case refused
}

/// The way to the network and back. One transport serves any number of clients: a fleet of thousands of simulated
/// devices shares one. The closures are called on the transport's own threads and must not block.
package protocol NetworkTransport: Sendable {
  /// Asks for an ad. Where the answer goes (reply topic and partition, correlation id) and the deadline are the
  /// transport's to fill in.
  ///
  /// - Parameters:
  ///   - acknowledged: The network has the request; called at most once, however often it was asked.
  ///   - completion: Called exactly once: the answer, or `noAnswer` after the deadline.
  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void)

  /// Tells an event, again and again until the network has it; the order of one client's events is kept.
  ///
  /// - Parameter ended: Called once, when the network has it, or will never take it.
  /// - Returns: False when the queue is full: the event is dropped and counted.
  @discardableResult
  func send(_ event: OutgoingEvent, ended: @escaping @Sendable (EventEnd) -> Void) -> Bool

  /// Sends at once what waits for company.
  func flush()

  /// Whether the network can be reached.
  var connection: AdConnectionState { get }

  /// Ends the transport: what waits has until `timeoutMilliseconds` to be acknowledged. Requests without an answer
  /// get `noAnswer`. It blocks: call it from a thread of your own.
  ///
  /// - Returns: True when no event is left to be told.
  @discardableResult
  func close(timeoutMilliseconds: Int) -> Bool
}

extension NetworkTransport {
  package var connection: AdConnectionState { .connected }
  package func flush() {}
  package func close(timeoutMilliseconds: Int) -> Bool { true }
}

extension RequestResult {
  /// What the network's answer says, which came at `now`.
  ///
  /// - Parameter edge: the address of the edge that answered, where images may lie; nil without one.
  package init(_ response: AdResponse, at now: MonotonicTime, edge: String? = nil) {
    switch response.outcome {
    case .error(let error, let detail): self = .error(error, detail: detail)
    case .ad(let served):
      let images = Dictionary(served.images.map { ($0.size, ImageReference($0.url)) }) { first, _ in first }
      var ad = AdContent(
        ad: served.ad, images: images.mapValues { image in edge.map(image.url(at:)) ?? image.url },
        action: served.action, lifetimeMilliseconds: served.lifetimeMilliseconds, isTest: served.isTest,
        serveID: served.serveID, requestID: response.requestID, token: served.token, answeredAt: now,
        revenue: served.revenue.map { AdRevenue(amount: $0.amount, currency: $0.currency) } ?? .none,
        imageContents: images.compactMapValues(\.contents))
      ad.pacing = served.pacing
      ad.countsBySession = served.countsBySession
      self = .ad(ad)
    }
  }
}
