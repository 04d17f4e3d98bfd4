package import AdCore
package import AdEvents

/// An event on its way to the network: what it says, and the identity that it keeps over every sending.
package struct OutgoingEvent: Sendable {
  package enum Message: Sendable {
    case impression(ImpressionEvent)
    case click(ClickEvent)
  }

  /// `ce_id`: made once, so that however often the event arrives it is one event.
  package let id: UUIDv7
  /// `ce_time`, by the device's wall clock; the network goes by the age (it may be wrong).
  package let time: Timestamp
  package let app: AppID
  /// The client id, else the session id. The ad's token names the partition of exactly this key.
  package let partitionKey: String
  package let message: Message

  package init(id: UUIDv7, time: Timestamp, app: AppID, partitionKey: String, message: Message) {
    self.id = id
    self.time = time
    self.app = app
    self.partitionKey = partitionKey
    self.message = message
  }
}

/// The way to the network and back. One transport serves any number of clients: a fleet of thousands of simulated
/// devices shares one. The closures are called on the transport's own threads and must not block.
package protocol NetworkTransport: Sendable {
  /// Asks for an ad. Where the answer goes (reply topic and partition, correlation id) and the deadline are the
  /// transport's to fill in.
  ///
  /// - Parameters:
  ///   - acknowledged: The broker has the request; called at most once, however often it was asked.
  ///   - completion: Called exactly once: the answer, or `noAnswer` after the deadline.
  func send(
    _ request: AdRequest, acknowledged: @escaping @Sendable () -> Void,
    completion: @escaping @Sendable (RequestResult) -> Void)

  /// Tells an event, again and again until the broker has it; the order of one client's events is kept.
  ///
  /// - Parameter acknowledged: Called once, when the broker has it.
  /// - Returns: False when the queue is full: the event is dropped and counted.
  @discardableResult
  func send(_ event: OutgoingEvent, acknowledged: @escaping @Sendable () -> Void) -> Bool
}
