/// Samples of what clients write and read, in protobuf's JSON mapping. A test has our own decoders take each of them.
enum AsyncAPIExamples {
  /// The samples of a topic's message; none for what only our services write for each other.
  static func of(_ topic: Topic) -> [YAML] {
    switch topic {
    case .requests: [request]
    case .responses: [ad, failure]
    case .impressions: [viewed, failedRequest]
    case .clicks: [click, conversion]
    default: []
    }
  }

  private static let requestID = (text: "0197e4a2-8c1b-7d3e-9f00-3a5b7c9d1e2f", base64: "AZfkoowbfT6fADpbfJ0eLw==")
  /// Any bytes: a decoder knows a token by its length alone, and a tracker by its signature.
  private static let token = YAML.text("dGhlIHNlcnZlIHRva2VuLCBhcyBpdCBjYW1l")

  private static let request = example(
    "phone-banner", "A banner of a phone. The header kafka_replyPartition (4 bytes) says where the answer goes.",
    .adRequested, id: requestID.text,
    [
      ("requestId", .text(requestID.base64)), ("appKey", .text("the-key-of-a-distribution-build")),
      ("app", .text("chess")), ("placement", .text("end-of-game")), ("clientId", .text("8c6f2a4e")),
      ("sessionId", .text("b1946ac9")), ("country", .text("US")), ("device", .text("DEVICE_PHONE")),
      ("requiredSizes", .list([.text("portrait"), .text("landscape")])), ("currentSize", .text("portrait")),
      ("deadlineMilliseconds", .text("10000")), ("segments", .list([.text("board-games")])),
    ])

  private static let ad = example(
    "ad", "An ad, for a request in JSON. Its token goes back in each event about it.", .adResponded,
    id: requestID.text,
    [
      ("requestId", .text(requestID.base64)),
      (
        "ad",
        .map([
          ("ad", .text("ferry-summer-coast")), ("token", token),
          ("images", .list([image("PORTRAIT", "320x50"), image("LANDSCAPE", "480x32")])),
          (
            "action", .map([("kind", .text("KIND_COVER")), ("destination", .text("https://ferry.example/summer"))])
          ),
          ("lifetimeMilliseconds", .text("900000")), ("serveId", .text("0197e4a2-8c2a-7b11-8d5e-6f708192a3b4")),
        ])
      ),
    ])

  private static let failure = example(
    "no-ad", "No ad, and why (rules E), for a request in JSON.", .adResponded, id: requestID.text,
    [
      ("requestId", .text(requestID.base64)),
      (
        "failure",
        .map([
          ("code", .text("ERROR_CODE_CONFIGURATION_ERROR")), ("detail", .text("A3: ads are not enabled for the app")),
        ])
      ),
    ])

  private static let viewed = example(
    "viewed", "The impression itself: half of the ad was on screen for a second (M1).", .impressionViewed,
    id: "0197e4a2-9f00-7c4d-a6b8-1d2e3f405162",
    [("kind", .text("KIND_VIEWED")), ("token", token), ("ageMilliseconds", .text("1840"))])

  private static let failedRequest = example(
    "request-failed", "An error that happened without an ad: nobody answered in time (M6).", .impressionFailed,
    id: "0197e4a2-b374-7e5f-b7c9-2e3f40516273",
    [
      ("kind", .text("KIND_FAILED")),
      (
        "request",
        .map([
          ("requestId", .text(requestID.base64)), ("app", .text("chess")), ("placement", .text("end-of-game")),
          ("clientId", .text("8c6f2a4e")), ("sessionId", .text("b1946ac9")),
          ("appKey", .text("the-key-of-a-distribution-build")),
        ])
      ),
      ("error", .text("ERROR_CODE_SERVER_FAILURE")),
    ])

  private static let click = example(
    "click", "A tap, told 2 s into its action (M7).", .clickTapped, id: "0197e4a2-ac10-7f60-88da-3f4051627384",
    [
      ("kind", .text("KIND_CLICK")), ("token", token), ("ageMilliseconds", .text("3125")),
      ("actionMilliseconds", .text("2000")),
    ])

  private static let conversion = example(
    "conversion", "An install, told by the advertised app with its user's consent (M8).", .adConverted,
    id: "0197e5d1-1b20-7a61-9c3e-405162738495",
    [
      ("kind", .text("KIND_CONVERTED")),
      (
        "conversion",
        .map([
          ("reference", .text("AQABbm9uY2Ugb2YgMTYgYnl0c2VhbGVkIHNlcnZlIGFuZCBwbGFjZXRhZyBvZiAxNiBieXRlcw")),
          ("kind", .text("KIND_INSTALL")), ("hasConsent", .truth(true)),
          ("appKey", .text("the-key-of-the-advertised-app")),
        ])
      ),
    ])

  private static func image(_ orientation: String, _ points: String) -> YAML {
    .map([
      ("size", .text("AD_SIZE_PHONE_BANNER_\(orientation)")), ("url", .text("https://cdn.example/ferry-\(points).png")),
    ])
  }

  private static func example(
    _ name: String, _ summary: String, _ type: EventType, id: String, _ payload: [(key: String, value: YAML)]
  ) -> YAML {
    let isAnswer = type == .adResponded
    let headers: [(key: String, value: YAML)] = [
      ("content-type", .text("application/json")), ("ce_specversion", .text("1.0")), ("ce_id", .text(id)),
      ("ce_source", .text(isAnswer ? "/ad-selection" : "/client/chess")), ("ce_type", .text("\(type.name)")),
      ("ce_time", .text("2025-07-07T09:30:00.411Z")),
    ]
    return .map([
      ("name", .text(name)), ("summary", .text(summary)), ("headers", .map(headers)), ("payload", .map(payload)),
    ])
  }
}
