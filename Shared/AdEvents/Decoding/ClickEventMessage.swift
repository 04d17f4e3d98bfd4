package import AdBasics

/// An event of `ads.clicks` whose token still lies where it was read. Valid only within the closure that gets it.
package struct ClickEventView {
  package let kind: TapKind
  package let token: UnsafeRawBufferPointer
  package let age: EventAge
  package let actionMilliseconds: Int64
  package let leftApplication: Bool
  /// Of a conversion what was done; nil for a tap.
  package let conversion: ClickEvent.Conversion?
  package let identity: EventIdentity
}

extension ClickEvent: EventMessage {
  package static var schemaName: String { "handbill.v1.ClickEvent" }
  package static var eventTypes: [EventType] { [.clickTapped, .clickBlocked, .clickCancelled, .adConverted] }
  package static var isWrittenByClients: Bool { true }
  package var eventType: EventType { kind.eventType }

  /// Like `decode`, with the token in place: `body` gets the event while the record's memory is there.
  package static func withDecoded<Outcome>(
    value: UnsafeRawBufferPointer?, headers: RecordHeaders, _ body: (ClickEventView) -> Outcome
  ) -> Result<Outcome, Rejection> {
    Envelope.withProtobuf(of: Self.self, value: value, headers: headers) { bytes, headers throws(Rejection) in
      let view = try view(bytes, headers)
      try Envelope.check(type: view.kind.eventType, headers)
      return body(view)
    }
  }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> ClickEvent {
    let view = try view(bytes, headers)
    return ClickEvent(
      kind: view.kind, token: Array(view.token), age: view.age, actionMilliseconds: view.actionMilliseconds,
      leftApplication: view.leftApplication, conversion: view.conversion, identity: view.identity)
  }

  private static func view(
    _ bytes: UnsafeRawBufferPointer, _ headers: RecordHeaders
  ) throws(Rejection) -> ClickEventView {
    var kind: TapKind?
    var token = UnsafeRawBufferPointer(start: nil, count: 0)
    var age = EventAge.unknown
    var actionMilliseconds: Int64 = 0
    var leftApplication = false
    var told: UnsafeRawBufferPointer?
    var mistakes = Mistakes()
    mistakes.read(bytes) { (reader) throws(Rejection) in
      switch reader.field {
      case 1: kind = try reader.choice("kind")
      case 2: token = try reader.bytes("token", maximum: FieldLimits.tokenBytesMaximum)
      case 3: age = .milliseconds(try reader.milliseconds("age_milliseconds"))
      case 4: actionMilliseconds = try reader.milliseconds("action_milliseconds")
      case 5: leftApplication = try reader.bool()
      case 6: told = try reader.bytes()
      default: try reader.skip()
      }
    }
    kind = mistakes.required(kind, "kind")
    let conversion = kind == .converted ? Conversion(told, &mistakes) : nil
    if kind != .converted {
      if token.isEmpty { mistakes.addMissing("token is missing") }
      if told != nil { mistakes.add(Rejection(.invalidField, "only KIND_CONVERTED has a conversion")) }
    }
    let idHash = mistakes.required(headers.idHash, "ce_id")
    guard mistakes.isEmpty, let kind, let idHash else { throw mistakes.thrown }
    return ClickEventView(
      kind: kind, token: token, age: age, actionMilliseconds: actionMilliseconds,
      leftApplication: leftApplication, conversion: conversion,
      identity: EventIdentity(idHash: idHash, time: headers.time))
  }

  package func write(to writer: inout WireWriter) {
    writer.unsigned(1, UInt64(kind.rawValue))
    writer.bytes(2, token)
    if case .milliseconds(let age) = age { writer.presentUnsigned(3, UInt64(clamping: age)) }
    writer.unsigned(4, UInt64(clamping: actionMilliseconds))
    writer.bool(5, leftApplication)
    if let conversion { writer.message(6) { conversion.write(to: &$0) } }
  }
}

extension TapKind {
  /// The `ce_type` of an event of this kind.
  package var eventType: EventType {
    switch self {
    case .click: .clickTapped
    case .blocked: .clickBlocked
    case .cancelled: .clickCancelled
    case .converted: .adConverted
    }
  }
}
