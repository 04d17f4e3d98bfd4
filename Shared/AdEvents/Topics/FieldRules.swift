internal import AdCore

/// What the decoders demand of the fields that clients write, as JSON Schema says it: made of the constants that the
/// decoders compare with, so that the description cannot differ from them.
enum FieldRules {
  typealias Members = [(key: String, value: YAML)]

  /// The fields of a message that have to be there, by their names in JSON.
  static func required(of message: String) -> [String] {
    switch message {
    case "AdRequest":
      ["requestId", "appKey", "app", "placement", "sessionId", "country", "device", "deadlineMilliseconds"]
    case "ImpressionEvent": ["kind"]
    case "ImpressionEvent.RequestSubject": ["requestId", "app", "placement", "sessionId"]
    case "ClickEvent": ["kind", "token"]
    default: []
    }
  }

  /// What else holds for one value of a field; of a repeated field, for each of its entries.
  static func value(of field: String, in message: String) -> Members {
    guard isWrittenByClients(message) else { return [] }
    return switch field {
    case "requestId": base64(of: 16...16)
    case "token": base64(of: 1...FieldLimits.tokenBytesMaximum)
    case "app", "placement": [("pattern", .text(Slug.pattern)), ("maxLength", .number(Int64(Slug.bytesMaximum)))]
    case "appKey": text(1...FieldLimits.appKeyBytesMaximum)
    case "clientId": text(0...FieldLimits.clientIDBytesMaximum)
    case "sessionId": text(1...FieldLimits.clientIDBytesMaximum)
    case "country": [("pattern", .text("^[A-Z]{2}$"))]
    case "requiredSizes", "currentSize": text(0...FieldLimits.sizeIdentifierBytesMaximum)
    case "segments": text(0...FieldLimits.labelBytesMaximum)
    case "deadlineMilliseconds": numbers(FieldLimits.deadlineMilliseconds)
    default: []
    }
  }

  /// What else holds for a repeated field as a whole.
  static func list(of field: String, in message: String) -> Members {
    switch (message, field) {
    case ("AdRequest", "requiredSizes"): [("maxItems", .number(Int64(FieldLimits.sizesMaximum)))]
    case ("AdRequest", "segments"): [("maxItems", .number(Int64(FieldLimits.requestSegmentsMaximum)))]
    default: []
    }
  }

  private static func isWrittenByClients(_ message: String) -> Bool { !required(of: message).isEmpty }

  /// JSON Schema counts characters, and there are never more of them than bytes.
  private static func text(_ bytes: ClosedRange<Int>) -> Members {
    (bytes.lowerBound > 0 ? [("minLength", .number(Int64(bytes.lowerBound)))] : [])
      + [
        ("maxLength", .number(Int64(bytes.upperBound))),
        ("description", .text("At most \(bytes.upperBound) bytes in UTF-8.")),
      ]
  }

  /// So many bytes, with or without the padding of their base64.
  private static func base64(of bytes: ClosedRange<Int>) -> Members {
    [
      ("minLength", .number(Int64((bytes.lowerBound * 4 + 2) / 3))),
      ("maxLength", .number(Int64((bytes.upperBound + 2) / 3 * 4))),
      (
        "description",
        .text(bytes.count == 1 ? "\(bytes.lowerBound) bytes." : "At most \(bytes.upperBound) bytes.")
      ),
    ]
  }

  private static func numbers(_ range: ClosedRange<Int64>) -> Members {
    [
      ("minimum", .number(range.lowerBound)), ("maximum", .number(range.upperBound)),
      ("description", .text("\(range.lowerBound) to \(range.upperBound).")),
    ]
  }
}
