internal import AdBasics

extension AdResponse: EventMessage {
  package static var schemaName: String { "handbill.v1.AdResponse" }
  package static var eventTypes: [EventType] { [.adResponded] }
  package static var isWrittenByClients: Bool { false }
  package var eventType: EventType { .adResponded }

  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> AdResponse {
    var requestID: UUIDv7?
    var outcome: Outcome?
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: requestID = try reader.uuid("request_id")
      case 2: outcome = .ad(try ServedAd(reading: try reader.bytes()))
      case 3: outcome = try failure(try reader.bytes())
      default: try reader.skip()
      }
    }
    return AdResponse(
      requestID: try FieldValue.required(requestID, "request_id"),
      outcome: try FieldValue.required(outcome, "outcome"))
  }

  private static func failure(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> Outcome {
    var code = AdError.unknown
    var detail = ""
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: code = try reader.choice("code") ?? .unknown
      case 2: detail = try reader.text("detail", maximum: FieldLimits.detailBytesMaximum)
      default: try reader.skip()
      }
    }
    return .error(code, detail: detail)
  }

  package func write(to writer: inout WireWriter) {
    writer.uuid(1, high: requestID.high, low: requestID.low)
    switch outcome {
    case .ad(let ad): writer.message(2) { ad.write(to: &$0) }
    case .error(let code, let detail):
      writer.message(3) { writer in
        writer.unsigned(1, UInt64(code.rawValue))
        writer.text(2, detail)
      }
    }
  }
}

extension ServedAd {
  fileprivate init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    var ad: AdID?
    var token: [UInt8] = []
    var images: [Image] = []
    var action: AdAction?
    var lifetimeMilliseconds: Int64 = 0
    var isTest = false
    var serveID: ServeID?
    var revenue = Nanos.zero
    var currency: Currency?
    var pacing: AdPacing?
    var countsBySession = false
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: ad = try reader.identifier("ad")
      case 2: token = Array(try reader.bytes("token", maximum: FieldLimits.tokenBytesMaximum))
      case 3:
        let (size, url) = try CommonFields.image(try reader.bytes())
        try FieldValue.add(Image(size: size, url: url), to: &images, "images", maximum: FieldLimits.sizesMaximum)
      case 4: action = try CommonFields.action(try reader.bytes())
      case 5: lifetimeMilliseconds = try reader.milliseconds("lifetime_milliseconds")
      case 6: isTest = try reader.bool()
      case 7: serveID = try reader.uuidText("serve_id")
      case 8: revenue = try reader.nanos("developer_revenue_nanos")
      case 9: currency = try reader.currency("currency")
      case 10: pacing = try AdPacing(reading: try reader.bytes())
      case 11: countsBySession = try reader.bool()
      default: try reader.skip()
      }
    }
    guard !token.isEmpty else { throw Rejection(.missingField, "token is missing") }
    self.init(
      ad: try FieldValue.required(ad, "ad"), token: token, images: images,
      action: try FieldValue.required(action, "action"), lifetimeMilliseconds: lifetimeMilliseconds, isTest: isTest,
      serveID: try FieldValue.required(serveID, "serve_id"),
      revenue: currency.map { Revenue(amount: revenue, currency: $0) }, pacing: pacing,
      countsBySession: countsBySession)
  }

  fileprivate func write(to writer: inout WireWriter) {
    writer.text(1, ad.text)
    writer.bytes(2, token)
    for image in images { writer.message(3) { CommonFields.write(image.size, image.url, to: &$0) } }
    writer.message(4) { CommonFields.write(action, to: &$0) }
    writer.unsigned(5, UInt64(clamping: lifetimeMilliseconds))
    writer.bool(6, isTest)
    writer.text(7, serveID.description)
    if let revenue {
      writer.signed(8, revenue.amount.value)
      writer.text(9, revenue.currency)
    }
    if let pacing { writer.message(10) { pacing.write(to: &$0) } }
    writer.bool(11, countsBySession)
  }
}

extension AdPacing {
  fileprivate init(reading bytes: UnsafeRawBufferPointer) throws(Rejection) {
    self.init(
      refreshMilliseconds: 0, viewMilliseconds: 0, viewBasisPoints: 0, actionMilliseconds: 0, tapDelayMilliseconds: 0)
    var reader = WireReader(bytes)
    while try reader.next() {
      switch reader.field {
      case 1: refreshMilliseconds = try reader.milliseconds("refresh_milliseconds")
      case 2: viewMilliseconds = try reader.milliseconds("view_milliseconds")
      case 3: viewBasisPoints = Int64(clamping: try reader.unsigned())
      case 4: actionMilliseconds = try reader.milliseconds("action_milliseconds")
      case 5: tapDelayMilliseconds = try reader.milliseconds("tap_delay_milliseconds")
      default: try reader.skip()
      }
    }
  }

  fileprivate func write(to writer: inout WireWriter) {
    writer.unsigned(1, UInt64(clamping: refreshMilliseconds))
    writer.unsigned(2, UInt64(clamping: viewMilliseconds))
    writer.unsigned(3, UInt64(clamping: viewBasisPoints))
    writer.unsigned(4, UInt64(clamping: actionMilliseconds))
    writer.unsigned(5, UInt64(clamping: tapDelayMilliseconds))
  }
}
