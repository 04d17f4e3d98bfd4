internal import AdBasics

extension AdRequest: EventMessage {
  package static var schemaName: String { "handbill.v1.AdRequest" }
  package static var eventTypes: [EventType] { [.adRequested] }
  package static var isWrittenByClients: Bool { true }
  package var eventType: EventType { .adRequested }

  /// `isForwarded` stays false: whoever holds the key verifies ``RecordHeaders/forwardedMark`` and sets it.
  package static func read(
    _ bytes: UnsafeRawBufferPointer, headers: RecordHeaders
  ) throws(Rejection) -> AdRequest {
    var fields = AdRequestFields()
    var mistakes = Mistakes()
    fields.read(bytes, &mistakes)
    // A request that a person feeds by hand names none: a shell cannot write the four bytes.
    let replyPartition = headers.replyPartition ?? 0
    if replyPartition < 0 { mistakes.add(Rejection(.invalidReply, "kafka_replyPartition is negative")) }
    let requestID = mistakes.required(fields.requestID, "request_id")
    let appKey = mistakes.required(fields.appKey, "app_key")
    let app = mistakes.required(fields.app, "app")
    let placement = mistakes.required(fields.placement, "placement")
    let sessionID = mistakes.required(fields.sessionID, "session_id")
    let country = mistakes.required(fields.country, "country")
    let device = mistakes.required(fields.device, "device")
    if fields.deadlineMilliseconds == nil { mistakes.addMissing(AdRequestFields.missingDeadline) }
    guard mistakes.isEmpty, let requestID, let app, let placement, let country, let device,
      let deadline = fields.deadlineMilliseconds
    else { throw mistakes.thrown }
    return AdRequest(
      requestID: requestID, appKey: appKey, app: app, placement: placement, clientID: fields.clientID,
      sessionID: sessionID, country: country, device: device, requiredSizes: fields.requiredSizes,
      currentSize: fields.currentSize, isInterstitial: fields.isInterstitial, deadlineMilliseconds: deadline,
      replyPartition: replyPartition, replyTopic: headers.replyTopic, correlationID: headers.correlationID,
      segments: fields.segments)
  }

  package func write(to writer: inout WireWriter) {
    writer.uuid(1, high: requestID.high, low: requestID.low)
    writer.text(2, appKey)
    writer.text(3, app.text)
    writer.text(4, placement.text)
    writer.text(5, clientID)
    writer.text(6, sessionID)
    writer.text(7, country.description)
    writer.unsigned(8, UInt64(device.rawValue))
    for size in requiredSizes { writer.presentText(9, size) }
    writer.text(10, currentSize)
    writer.bool(11, isInterstitial)
    writer.unsigned(12, UInt64(clamping: deadlineMilliseconds))
    for segment in segments { writer.presentText(13, segment) }
  }
}

/// The fields of a request as they are read, one by one.
struct AdRequestFields {
  var requestID: UUIDv7?
  var appKey = ""
  var app: AppID?
  var placement: PlacementID?
  var clientID = ""
  /// There is a client id, and it cannot be one.
  var isClientIDInvalid = false
  var sessionID = ""
  var country: Country?
  var device: Device?
  var requiredSizes: [String] = []
  var currentSize = ""
  var isInterstitial = false
  var deadlineMilliseconds: Int64?
  var segments: [String] = []

  mutating func read(_ bytes: UnsafeRawBufferPointer, _ mistakes: inout Mistakes) {
    mistakes.read(bytes) { (reader) throws(Rejection) in try readField(&reader) }
  }

  /// A deadline of 0 is none: protobuf does not tell the two apart.
  static var missingDeadline: String {
    let range = FieldLimits.deadlineMilliseconds
    return "deadline_milliseconds is missing or 0: give \(range.lowerBound) to \(range.upperBound)"
  }

  @inline(__always)
  private mutating func readField(_ reader: inout WireReader) throws(Rejection) {
    switch reader.field {
    case 1:
      var written: UUIDv7?
      do { requestID = try reader.uuid("request_id", asWritten: &written) } catch {
        // It is rejected, and is legible: it says whom to answer.
        requestID = written ?? requestID
        throw error
      }
    case 2: appKey = try reader.text("app_key", maximum: FieldLimits.appKeyBytesMaximum)
    case 3: app = try reader.identifier("app")
    case 4: placement = try reader.identifier("placement")
    case 5:
      isClientIDInvalid = true
      clientID = try reader.text("client_id", maximum: FieldLimits.clientIDBytesMaximum)
      isClientIDInvalid = false
    case 6: sessionID = try reader.text("session_id", maximum: FieldLimits.clientIDBytesMaximum)
    case 7: country = try reader.country("country")
    case 8: device = try reader.choice("device")
    case 9:
      let size = try reader.text("an entry of required_sizes", maximum: FieldLimits.sizeIdentifierBytesMaximum)
      try FieldValue.add(size, to: &requiredSizes, "required_sizes", maximum: FieldLimits.sizesMaximum)
    case 10: currentSize = try reader.text("current_size", maximum: FieldLimits.sizeIdentifierBytesMaximum)
    case 11: isInterstitial = try reader.bool()
    case 12:
      let deadline = try reader.milliseconds(
        "deadline_milliseconds", maximum: FieldLimits.deadlineMilliseconds.upperBound)
      deadlineMilliseconds = deadline < FieldLimits.deadlineMilliseconds.lowerBound ? nil : deadline
    case 13:
      let segment = try reader.text("an entry of segments", maximum: FieldLimits.labelBytesMaximum)
      try FieldValue.add(segment, to: &segments, "segments", maximum: FieldLimits.requestSegmentsMaximum)
    default: try reader.skip()
    }
  }
}
