package import AdBasics

/// An event of `ads.impressions` whose token still lies where it was read: what the hot path decodes to, without one
/// allocation. Valid only within the closure that gets it.
package struct ImpressionEventView {
  package enum Subject {
    case serve(token: UnsafeRawBufferPointer)
    case request(ImpressionEvent.RequestSubject)
  }

  package let kind: ImpressionEvent.Kind
  package let subject: Subject
  package let age: EventAge
  package let error: AdError?
  package let identity: EventIdentity
}

extension ImpressionEvent: EventMessage {
  package static var schemaName: String { "handbill.v1.ImpressionEvent" }
  package static let eventTypes: [EventType] = [
    .impressionViewed, .impressionRendered, .impressionUnloaded, .impressionFailed, .impressionNeverShown,
    .impressionExpiredUnseen, .impressionShownBriefly,
  ]
  package static var isWrittenByClients: Bool { true }
  package var eventType: EventType { kind.eventType }

  /// Like `decode`, with the token in place: `body` gets the event while the record's memory is there. Not generic over
  /// what `body` makes of it, so that all of it is compiled for this one event.
  package static func withDecoded(
    value: UnsafeRawBufferPointer?, headers: RecordHeaders, _ body: (ImpressionEventView) -> Void
  ) -> Result<Void, Rejection> {
    Envelope.withProtobuf(of: Self.self, value: value, headers: headers) { bytes, headers throws(Rejection) in
      let view = try view(bytes, headers)
      try Envelope.check(type: view.kind.eventType, headers)
      body(view)
    }
  }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> ImpressionEvent {
    let view = try view(bytes, headers)
    let subject: Subject =
      switch view.subject {
      case .serve(let token): .serve(token: Array(token))
      case .request(let request): .request(request)
      }
    return ImpressionEvent(
      kind: view.kind, subject: subject, age: view.age, error: view.error, identity: view.identity)
  }

  private static func view(
    _ bytes: UnsafeRawBufferPointer, _ headers: RecordHeaders
  ) throws(Rejection) -> ImpressionEventView {
    var kind: Kind?
    var token: UnsafeRawBufferPointer?
    var request: UnsafeRawBufferPointer?
    var age = EventAge.unknown
    var error: AdError?
    var mistakes = Mistakes()
    mistakes.read(bytes) { (reader) throws(Rejection) in
      switch reader.field {
      case 1: kind = try reader.choice("kind")
      case 2: (token, request) = (try reader.bytes("token", maximum: FieldLimits.tokenBytesMaximum), nil)
      case 3: (token, request) = (nil, try reader.bytes())
      case 4: age = .milliseconds(try reader.milliseconds("age_milliseconds"))
      case 5: error = try reader.choice("error")
      default: try reader.skip()
      }
    }
    kind = mistakes.required(kind, "kind")
    let subject = subject(token: token, request: request, kind: kind, &mistakes)
    if let kind, kind != .failed, error != nil {
      mistakes.add(Rejection(.invalidField, "only a failure has an error code"))
    }
    if kind == .failed, error == nil { mistakes.addMissing("error is missing") }
    let idHash = mistakes.required(headers.idHash, "ce_id")
    guard mistakes.isEmpty, let kind, let subject, let idHash else { throw mistakes.thrown }
    return ImpressionEventView(
      kind: kind, subject: subject, age: age, error: error,
      identity: EventIdentity(idHash: idHash, time: headers.time))
  }

  private static func subject(
    token: UnsafeRawBufferPointer?, request: UnsafeRawBufferPointer?, kind: Kind?, _ mistakes: inout Mistakes
  ) -> ImpressionEventView.Subject? {
    if let token {
      if token.isEmpty { mistakes.addMissing("token is empty") }
      return .serve(token: token)
    }
    guard let request else {
      if !mistakes.isTold(of: "token ") { mistakes.addMissing("subject is missing") }
      return nil
    }
    let subject = requestSubject(request, &mistakes)
    if let kind, kind != .failed {
      mistakes.add(Rejection(.invalidField, "only a failure can do without a token"))
    }
    return subject
  }

  private static func requestSubject(
    _ bytes: UnsafeRawBufferPointer, _ mistakes: inout Mistakes
  ) -> ImpressionEventView.Subject? {
    var id: UUIDv7?
    var app: AppID?
    var placement: PlacementID?
    var clientID = ""
    var sessionID = ""
    var appKey = ""
    mistakes.read(bytes) { (reader) throws(Rejection) in
      switch reader.field {
      case 1: id = try reader.uuid("request.request_id")
      case 2: app = try reader.identifier("request.app")
      case 3: placement = try reader.identifier("request.placement")
      case 4: clientID = try reader.text("request.client_id", maximum: FieldLimits.clientIDBytesMaximum)
      case 5: sessionID = try reader.text("request.session_id", maximum: FieldLimits.clientIDBytesMaximum)
      case 6: appKey = try reader.text("request.app_key", maximum: FieldLimits.appKeyBytesMaximum)
      default: try reader.skip()
      }
    }
    id = mistakes.required(id, "request.request_id")
    app = mistakes.required(app, "request.app")
    placement = mistakes.required(placement, "request.placement")
    sessionID = mistakes.required(sessionID, "request.session_id")
    appKey = mistakes.required(appKey, "request.app_key")
    guard let id, let app, let placement else { return nil }
    return .request(
      ImpressionEvent.RequestSubject(
        requestID: id, appKey: appKey, app: app, placement: placement, clientID: clientID, sessionID: sessionID))
  }

  package func write(to writer: inout WireWriter) {
    writer.unsigned(1, UInt64(kind.rawValue))
    switch subject {
    case .serve(let token): writer.presentBytes(2, token)
    case .request(let request):
      writer.message(3) { writer in
        writer.uuid(1, high: request.requestID.high, low: request.requestID.low)
        writer.text(2, request.app.text)
        writer.text(3, request.placement.text)
        writer.text(4, request.clientID)
        writer.text(5, request.sessionID)
        writer.text(6, request.appKey)
      }
    }
    if case .milliseconds(let age) = age { writer.presentUnsigned(4, UInt64(clamping: age)) }
    if let error { writer.presentUnsigned(5, UInt64(error.rawValue)) }
  }
}

extension ImpressionEvent.Kind {
  /// The `ce_type` of an event of this kind.
  package var eventType: EventType {
    switch self {
    case .rendered: .impressionRendered
    case .viewed: .impressionViewed
    case .unloaded: .impressionUnloaded
    case .failed: .impressionFailed
    case .neverShown: .impressionNeverShown
    case .expiredUnseen: .impressionExpiredUnseen
    case .shownBriefly: .impressionShownBriefly
    }
  }
}
