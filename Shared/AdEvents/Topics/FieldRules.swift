internal import AdBasics

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
    case "ImpressionEvent.RequestSubject": ["requestId", "app", "placement", "sessionId", "appKey"]
    case "ClickEvent": ["kind"]
    case "Conversion": ["reference", "kind", "hasConsent", "appKey"]
    default: []
    }
  }

  /// What else holds for a whole message.
  static func members(of message: String) -> Members {
    if message == "ClickEvent" {
      return [("oneOf", .list(["token", "conversion"].map { .map([("required", .list([.text($0)]))]) }))]
    }
    guard message == "ImpressionEvent" else { return [] }
    // What happened to an ad has its token; only a failure can do without, and only a failure has an error code.
    let failed = YAML.map([("properties", .map([("kind", .map([("const", .text("KIND_FAILED"))]))]))])
    let failure = [YAML.map([("required", .list([.text("request")]))]), .map([("required", .list([.text("error")]))])]
    return [
      ("oneOf", .list(["token", "request"].map { .map([("required", .list([.text($0)]))]) })),
      ("if", failed), ("then", .map([("required", .list([.text("error")]))])),
      ("else", .map([("not", .map([("anyOf", .list(failure))]))])),
    ]
  }

  /// The names of an enum that a field takes: where it is required, not the one that stands for none.
  static func names(_ names: [String], of field: String, in message: String) -> [String] {
    required(of: message).contains(field) ? names.filter { !$0.hasSuffix("_UNSPECIFIED") } : names
  }

  /// What else holds for one value of a field; of a repeated field, for each of its entries.
  static func value(of field: String, in message: String) -> Members {
    guard isWrittenByClients(message) else { return [] }
    return switch field {
    case "requestId": base64(of: 16...16)
    case "token": base64(of: 1...FieldLimits.tokenBytesMaximum)
    case "app", "placement": [("pattern", .text(Slug.pattern)), ("maxLength", .number(Int64(Slug.bytesMaximum)))]
    case "reference": text(1...FieldLimits.clickReferenceBytesMaximum)
    case "hasConsent": [("const", .truth(true))]
    case "currency": [("pattern", .text("^[A-Z]{3}$"))]
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

  /// JSON Schema counts characters, and there are never more of them than bytes: those the schema's comments say.
  private static func text(_ bytes: ClosedRange<Int>) -> Members {
    (bytes.lowerBound > 0 ? [("minLength", .number(Int64(bytes.lowerBound)))] : [])
      + [("maxLength", .number(Int64(bytes.upperBound)))]
  }

  /// So many bytes, with or without the padding of their base64.
  private static func base64(of bytes: ClosedRange<Int>) -> Members {
    [
      ("minLength", .number(Int64((bytes.lowerBound * 4 + 2) / 3))),
      ("maxLength", .number(Int64((bytes.upperBound + 2) / 3 * 4))),
    ]
  }

  private static func numbers(_ range: ClosedRange<Int64>) -> Members {
    [("minimum", .number(range.lowerBound)), ("maximum", .number(range.upperBound))]
  }
}
