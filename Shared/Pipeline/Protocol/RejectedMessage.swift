internal import AdCore
internal import AdEvents

/// The message on `ads.rejected` for a rejected record, in the record's own partition number.
enum RejectedMessage {
  static func make(_ event: RejectedEvent) -> OutgoingMessage {
    let maker = MessageMaker(topic: Topic.rejected.name, type: .eventRejected, source: "/\(event.service)")
    return maker.message(
      event, id: "\(event.topic)/\(event.partition)/\(event.offset)", time: event.arrival, partition: event.partition,
      key: nil)
  }
}
