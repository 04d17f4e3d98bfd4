import AdCore
import AdEvents
import JSON
import Records

/// The messages of all topics. The first byte of an input chooses form and `ce_type`, the rest is the record's value.
enum MessageTargets {
  static let all: [FuzzTarget] = [
    target("ad-request", alsoWrong: LegibleLimits.fault) { $0.request() }, target("ad-response") { $0.response() },
    target("impression-event", alsoDecoded: isSeenInPlace) { $0.impression() },
    target("click-event", alsoDecoded: isSeenInPlace) { $0.click() },
    target("accepted-impression") { $0.acceptedImpression() }, target("accepted-click") { $0.acceptedClick() },
    target("usage-record") { $0.usage() }, target("budget-record") { $0.budget() },
    target("catalogue-message") { $0.catalog() }, target("rejected-event") { $0.rejected() },
  ]

  /// How a value is written, by the two lowest bits of the first byte.
  private static let contentTypes = ["application/protobuf", "application/json", "application/cloudevents+json", ""]
  private static let words = [
    "{\"", "\":", "\"}", "\\ud83d\\ude00", "null", "1e3", "-1", "9223372036854775808", "specversion", "data_base64",
    "data", "type", "source", "\u{80}\u{80}\u{80}\u{80}\u{80}\u{80}\u{80}\u{80}\u{80}\u{1}",
  ]

  private static func target<Message: EventMessage>(
    _ name: String,
    alsoDecoded: @escaping @Sendable (Message.Type, UnsafeRawBufferPointer?, RecordHeaders) -> Bool? = { _, _, _ in nil
    },
    alsoWrong: @escaping @Sendable (UnsafeRawBufferPointer?, RecordHeaders) -> String? = { _, _ in nil },
    sample: @escaping @Sendable (inout SampleMaker) -> Message
  ) -> FuzzTarget {
    FuzzTarget(name, words: words) {
      seeds(sample)
    } fault: { input in
      guard let choice = input.first else { return nil }
      let headers = headers(choice, Message.eventTypes)
      let rest = input.dropping(1)
      // A record without a value is not the same as an empty one.
      let value = choice == 0xFF ? nil : rest
      let outcome = Message.decode(value: value, headers: headers)
      if let inPlace = alsoDecoded(Message.self, value, headers), inPlace != ((try? outcome.get()) != nil) {
        return "decoded in place it has another outcome"
      }
      if let fault = alsoWrong(value, headers) { return fault }
      switch outcome {
      case .failure(let rejection): return fault(of: rejection, Message.self)
      case .success(let message):
        // Neither a CloudEvent in JSON nor a line fed by hand has its identity from the headers.
        let hasOwnIdentity = choice & 3 == 2 || headers.idHash == nil
        return fault(of: message, properHeaders(message.eventType), hasOwnIdentity: hasOwnIdentity)
      }
    }
  }

  /// A rejection has one of the reasons that decoding can give, and a sentence of our own.
  private static func fault<Message: EventMessage>(of rejection: Rejection, _: Message.Type) -> String? {
    guard !rejection.detail.isEmpty, rejection.detail.utf8.count <= FieldLimits.detailBytesMaximum else {
      return "a rejection without a proper sentence: \(rejection)"
    }
    if !Message.isWrittenByClients {
      return rejection.reason == .invalidInternal ? nil : "an internal record was rejected as \(rejection.reason)"
    }
    let decoding = RejectionReason.nullValue.rawValue...RejectionReason.unknownType.rawValue
    return decoding.contains(rejection.reason.rawValue) || rejection.reason == .invalidReply
      ? nil : "decoding alone cannot say \(rejection.reason)"
  }

  /// What was taken lies within all limits, and comes back the same from both of its forms.
  private static func fault<Message: EventMessage>(
    of message: Message, _ headers: RecordHeaders, hasOwnIdentity: Bool
  ) -> String? {
    guard Message.eventTypes.contains(message.eventType) else { return "\(message.eventType) is of another topic" }
    if let fault = DecodedLimits.fault(in: message) { return fault }
    let bytes = message.encoded()
    guard bytes.count <= Message.valueBytesMaximum else { return nil }
    guard case .success(let again) = bytes.withUnsafeBytes({ Message.decode(value: $0, headers: headers) }) else {
      return "its own encoding is not taken"
    }
    guard again.encoded() == bytes else { return "it is encoded in two ways" }
    if !hasOwnIdentity, again != message { return "its own encoding says something else" }
    guard case .success(let json) = message.json().map(\.compactText) else { return "it has no JSON form" }
    guard json.utf8.count <= Message.valueBytesMaximum else { return nil }
    var jsonHeaders = headers
    jsonHeaders.contentType = .json
    let fromJSON = Array(json.utf8).withUnsafeBytes { Message.decode(value: $0, headers: jsonHeaders) }
    guard case .success(let third) = fromJSON else { return "its own JSON is not taken: \(fromJSON)" }
    return third.encoded() == bytes ? nil : "its own JSON says something else"
  }

  private static func headers(_ choice: UInt8, _ types: [EventType]) -> RecordHeaders {
    let contentType = contentTypes[Int(choice & 3)]
    let typeChoice = Int(choice >> 2) % (types.count + 2)
    // One without any envelope, as a person feeds it by hand.
    if typeChoice == types.count + 1 {
      var headers = RecordHeaders()
      if !contentType.isEmpty { headers.add(RecordHeader("content-type", contentType)) }
      return headers
    }
    var headers = properHeaders(types[min(typeChoice, types.count - 1)], contentType: contentType)
    if typeChoice == types.count { headers.type = .absent }
    if contentType.isEmpty { headers.contentType = .absent }
    return headers
  }

  private static func properHeaders(
    _ type: EventType, contentType: String = "application/protobuf"
  ) -> RecordHeaders {
    var headers = RecordHeaders()
    let made =
      CloudEventHeaders(type: type, source: "/fuzz").headers(
        id: "id-1", time: Timestamp(milliseconds: 1_277_985_600_000),
        contentType: RecordHeader("content-type", contentType))
      + CloudEventHeaders.reply(topic: "ads.responses.app", partition: 3, correlationID: [1, 2, 3])
    for header in made { headers.add(header) }
    return headers
  }

  /// Real values in all their forms.
  private static func seeds<Message: EventMessage>(_ sample: (inout SampleMaker) -> Message) -> [[UInt8]] {
    var maker = SampleMaker(seed: 20)
    var seeds: [[UInt8]] = [[], [0xFF], [0], [1] + Array("{}".utf8)]
    for _ in 0..<12 {
      let message = sample(&maker)
      let typeIndex = Message.eventTypes.firstIndex(of: message.eventType) ?? 0
      let choice = UInt8(typeIndex) << 2
      seeds.append([choice] + message.encoded())
      guard case .success(let json) = message.json().map(\.compactText) else { continue }
      seeds.append([choice | 1] + Array(json.utf8))
      let event = #"{"specversion":"1.0","id":"1","source":"/s","type":"\#(message.eventType.name)","data":\#(json)}"#
      seeds.append([choice | 2] + Array(event.utf8))
    }
    return seeds
  }

  private static func isSeenInPlace(
    _: ImpressionEvent.Type, _ value: UnsafeRawBufferPointer?, _ headers: RecordHeaders
  ) -> Bool? {
    var calls = 0
    let outcome = ImpressionEvent.withDecoded(value: value, headers: headers) { _ in calls += 1 }
    return (try? outcome.get()) != nil && calls == 1
  }

  private static func isSeenInPlace(
    _: ClickEvent.Type, _ value: UnsafeRawBufferPointer?, _ headers: RecordHeaders
  ) -> Bool? {
    (try? ClickEvent.withDecoded(value: value, headers: headers) { $0.token.count }.get()) != nil
  }
}
