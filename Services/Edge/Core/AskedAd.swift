internal import AdCore
package import AdEvents
package import Records

/// A request for an ad as the edge takes it, and as it writes it to Kafka.
package struct AskedAd: Sendable {
  package let request: AdRequest
  package let value: [UInt8]
  private let contentType: [UInt8]

  /// The largest body, in bytes, after it is unpacked.
  package static let bodyBytesMaximum = FieldLimits.clientValueBytesMaximum

  /// Reads a body of POST /v1/ads.
  package static func read(_ body: [UInt8], contentType: String) -> Result<AskedAd, EdgeRefusal> {
    guard let form = BodyForm(contentType), form != .cloudEventList else {
      return .failure(.unknownContent(detail: BodyForm.permitted))
    }
    var headers = RecordHeaders()
    headers.add(RecordHeader("content-type", form.contentType))
    if form == .protobuf {
      // Over HTTP nobody has to say again what the body says.
      for header in envelope(id: "edge", source: "edge") { headers.add(header) }
    }
    return body.withUnsafeBytes { bytes in
      AdRequest.decode(value: bytes, headers: headers).mapError(EdgeRefusal.rejected).map {
        AskedAd(request: $0, value: body, contentType: Array(form.contentType.utf8))
      }
    }
  }

  /// The key of its record: the client id, else the session id.
  package var key: String { request.clientKey }

  /// The headers of its record.
  ///
  /// - Parameters:
  ///   - mark: what the edge saw, under its MAC.
  ///   - partition: where this instance reads answers.
  package func headers(mark: [UInt8], partition: Int32, correlationID: [UInt8]) -> [RecordHeader] {
    [RecordHeader("content-type", contentType)]
      + AskedAd.envelope(id: request.requestID.description, source: "/client/\(request.app)")
      + [RecordHeader("\(EdgeMark.headerName)", mark)]
      + CloudEventHeaders.reply(topic: Topic.edgeResponses, partition: partition, correlationID: correlationID)
  }

  private static func envelope(id: String, source: String) -> [RecordHeader] {
    [
      RecordHeader("ce_specversion", "1.0"), RecordHeader("ce_type", "\(EventType.adRequested.name)"),
      RecordHeader("ce_source", source), RecordHeader("ce_id", id),
    ]
  }
}

/// How a body is written.
package enum BodyForm: Sendable {
  case protobuf
  case json
  case cloudEvent
  case cloudEventList

  package static let permitted =
    "content-type is none of application/protobuf, application/json, application/cloudevents+json"

  /// Parameters behind a semicolon do not count, nor does case.
  package init?(_ contentType: String) {
    switch contentType.prefix(64).prefix(while: { $0 != ";" }).filter({ $0 != " " }).lowercased() {
    case "application/protobuf", "application/x-protobuf": self = .protobuf
    case "application/json": self = .json
    case "application/cloudevents+json": self = .cloudEvent
    case "application/cloudevents-batch+json": self = .cloudEventList
    default: return nil
    }
  }

  /// As a record says it.
  package var contentType: String {
    switch self {
    case .protobuf: "application/protobuf"
    case .json: "application/json"
    case .cloudEvent, .cloudEventList: "application/cloudevents+json"
    }
  }
}
