package import AdEvents
package import JSON
internal import Pipeline
internal import Records

/// What a rejected record says, read by the decoders that the services use.
package enum KeptEvent: Sendable {
  case request(AdRequest)
  case impression(ImpressionEvent)
  case click(ClickEvent)
  /// It does not decode, for this reason.
  case undecodable(Rejection)
  /// No topic that clients write.
  case ofServices

  package init(_ record: KeptRecord) {
    func decoded<Message: EventMessage>(_: Message.Type, _ make: (Message) -> KeptEvent) -> KeptEvent {
      let envelope = record.envelope
      let result = withOptionalBytes(record.valueLength < 0 ? nil : record.value ?? []) {
        Message.decode(value: $0, headers: envelope)
      }
      switch result {
      case .success(let message): return make(message)
      case .failure(let rejection): return .undecodable(rejection)
      }
    }
    switch record.reference.topic {
    case Topic.requests.name: self = decoded(AdRequest.self) { .request($0) }
    case Topic.impressions.name: self = decoded(ImpressionEvent.self) { .impression($0) }
    case Topic.clicks.name: self = decoded(ClickEvent.self) { .click($0) }
    default: self = .ofServices
    }
  }

  /// The serve token that it carries.
  package var token: [UInt8]? {
    switch self {
    case .impression(let event): if case .serve(let token) = event.subject { token } else { nil }
    case .click(let event): event.conversion == nil ? event.token : nil
    case .request, .undecodable, .ofServices: nil
    }
  }

  /// Its fields, in protobuf's JSON mapping; nil where it does not decode.
  package var json: JSONValue? {
    switch self {
    case .request(let request): KeptEvent.json(request)
    case .impression(let event): KeptEvent.json(event)
    case .click(let event): KeptEvent.json(event)
    case .undecodable, .ofServices: nil
    }
  }

  private static func json(_ message: some EventMessage) -> JSONValue? {
    try? message.json().get().inOrderOfNames
  }
}
