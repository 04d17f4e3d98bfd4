package import AdBasics

/// What can be read of a request that is rejected: whom to answer, and whose request it is. Every value keeps its limits;
/// what is missing or wrong in itself is nil.
package struct LegibleRequest: Hashable, Sendable {
  package var requestID: UUIDv7
  package var app: AppID
  package var appKey: String?
  package var placement: PlacementID?
  /// The client id, else the session id: where the request belongs. Nil where there is neither, or the client id is
  /// none: then nobody can say.
  package var clientKey: String?
  package var clientID: String
  package var sessionID: String
  package var country: Country?
  package var device: Device?
  package var deadlineMilliseconds: Int64?
  /// Nil where one of the fields that say the size cannot be read.
  package var sizes: RequestedSizes?
  /// Where the answer goes; nil where the headers name no place that could be one.
  package var replyPartition: Int32?
  package var replyTopic: String
  package var correlationID: [UInt8]

  /// Of a request that can be read whole, and whose answer has no place.
  package init(_ request: AdRequest) {
    requestID = request.requestID
    app = request.app
    appKey = request.appKey
    placement = request.placement
    clientKey = request.clientKey
    clientID = request.clientID
    sessionID = request.sessionID
    country = request.country
    device = request.device
    deadlineMilliseconds = request.deadlineMilliseconds
    sizes = RequestedSizes(
      required: request.requiredSizes, current: request.currentSize, isInterstitial: request.isInterstitial)
    replyPartition = request.replyPartition
    replyTopic = request.replyTopic
    correlationID = request.correlationID
  }

  /// Reads what is legible of a record of `ads.requests`, in whatever form it is written and whatever its envelope
  /// lacks; nil without a request id and an app, since then nobody can be answered.
  init?(value: UnsafeRawBufferPointer?, headers: RecordHeaders) {
    guard let value, !value.isEmpty, value.count <= FieldLimits.legibleValueBytesMaximum else { return nil }
    var fields = AdRequestFields()
    // They were told already.
    var mistakes = Mistakes()
    if headers.isJSON(value: value) {
      let bytes = LegibleRequest.protobuf(fromJSON: value, contentType: headers.contentType, &mistakes)
      bytes.withUnsafeBytes { fields.read($0, &mistakes) }
    } else {
      fields.read(value, &mistakes)
    }
    guard let requestID = fields.requestID, let app = fields.app else { return nil }
    self.requestID = requestID
    self.app = app
    appKey = fields.appKey.isEmpty ? nil : fields.appKey
    placement = fields.placement
    clientID = fields.clientID
    sessionID = fields.sessionID
    let key = fields.clientID.isEmpty ? fields.sessionID : fields.clientID
    clientKey = fields.isClientIDInvalid || key.isEmpty ? nil : key
    country = fields.country
    device = fields.device
    deadlineMilliseconds = fields.deadlineMilliseconds
    let areSizesLegible = mistakes.isReadWhole && !RequestedSizes.fields.contains { mistakes.isTold(of: $0 + " ") }
    sizes =
      areSizesLegible
      ? RequestedSizes(
        required: fields.requiredSizes, current: fields.currentSize, isInterstitial: fields.isInterstitial) : nil
    replyPartition = headers.isReplyInvalid ? nil : headers.replyPartition ?? 0
    replyTopic = headers.replyTopic
    correlationID = headers.correlationID
  }

  /// What is wrong with the sizes (S3 to S5), for whoever is told of other mistakes; nil where nothing is, or they cannot
  /// be read.
  package var sizeMistake: String? {
    guard let device, let sizes else { return nil }
    return sizes.mistake(on: device)
  }

  private static func protobuf(
    fromJSON value: UnsafeRawBufferPointer, contentType: ContentType, _ mistakes: inout Mistakes
  ) -> [UInt8] {
    let name = AdRequest.schemaName
    if contentType == .cloudEventsJSON {
      return (try? StructuredEvent(value))?.protobuf(schemaName: name, &mistakes) ?? []
    }
    return (try? ProtobufJSON.value(value)).map { ProtobufJSON.protobuf(from: $0, schemaName: name, &mistakes) } ?? []
  }
}

/// What a request says of its sizes, as it names them.
package struct RequestedSizes: Hashable, Sendable {
  /// How their mistakes begin.
  static let fields = ["device", "required_sizes", "an entry of required_sizes", "current_size", "is_interstitial"]

  package var required: [String]
  package var current: String
  package var isInterstitial: Bool

  package init(required: [String], current: String, isInterstitial: Bool) {
    self.required = required
    self.current = current
    self.isInterstitial = isInterstitial
  }

  /// What is wrong with them for the device (S3 to S5); nil where nothing is.
  fileprivate func mistake(on device: Device) -> String? {
    guard case .refused(_, let detail) = select(on: device) else { return nil }
    return detail
  }

  private func select(on device: Device) -> SizeSelection {
    SizeSelection.select(required: required, current: current, device: device, isInterstitial: isInterstitial)
  }

  /// The current size; nil where these are none for the device (S3 to S5).
  package func size(on device: Device) -> AdSize? {
    guard case .resolved(_, let size) = select(on: device) else { return nil }
    return size
  }
}

/// A request that is rejected, and what is legible of it; nil where that is not enough to answer it.
package struct RejectedRequest: Error, Hashable, Sendable {
  package var rejection: Rejection
  package var legible: LegibleRequest?
}

extension AdRequest {
  /// The client id, else the session id: what says where the request belongs.
  package var clientKey: String { clientID.isEmpty ? sessionID : clientID }

  /// Like `decode`, with what is legible beside a rejection.
  /// - Parameter value: the record's value; nil for a null value (tombstone).
  package static func decodeLegibly(
    value: UnsafeRawBufferPointer?, headers: RecordHeaders
  ) -> Result<AdRequest, RejectedRequest> {
    decode(value: value, headers: headers).mapError { rejection in
      RejectedRequest(rejection: rejection, legible: LegibleRequest(value: value, headers: headers))
    }
  }
}
