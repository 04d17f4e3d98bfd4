import AdCore
import AdEvents
import FuzzTargets
import JSON
import Kafka
import Records
import TestValues

/// A record that somebody writes who means no good.
struct StrangerRecord {
  var topic: Topic
  var partition: Int32
  var key: [UInt8]?
  var value: [UInt8]?
  var headers: [RecordHeader]
}

/// Makes records out of proper ones, by chance: flipped, cut, spliced, of other types, beyond all limits, with altered,
/// forged and replayed tokens, with headers that nobody should write.
///
/// What stays valid tells of its own placement, by which its traffic is told apart from that of the devices.
struct StrangerMessages {
  static let app = "chess"
  static let appKey = "seed-key-of-chess-distribution"
  static let placement = "stranger"

  private let partitions: Int32
  private let forger: ServeTokenIssuer
  private var chance: SeededChance
  private var samples: SampleMaker
  /// The last proper records: what is sent again, or put together.
  private var earlier: [StrangerRecord] = []
  private static let earlierMaximum = 500

  init(partitions: Int32, seed: UInt64) throws {
    self.partitions = partitions
    chance = SeededChance(seed: seed)
    samples = SampleMaker(seed: seed)
    forger = try ServeTokenIssuer(ring: try KeyRing(configuration: Base64Key.new()))
  }

  /// The next record. `tokens` are genuine.
  mutating func next(tokens: [GenuineToken], now: Timestamp) throws -> StrangerRecord {
    if chance.number(1...12) == 1 { return internalRecord() }
    if let again = earlier.randomElement(using: &chance), chance.number(1...15) == 1 { return again }
    var record = try properRecord(tokens: tokens, now: now)
    if earlier.count < Self.earlierMaximum {
      earlier.append(record)
    } else {
      earlier[chance.number(0...Self.earlierMaximum - 1)] = record
    }
    if chance.number(1...4) > 1 { changeValue(&record) }
    if chance.number(1...4) == 1 { changeHeaders(&record) }
    return record
  }

  // MARK: Proper ones

  private mutating func properRecord(tokens: [GenuineToken], now: Timestamp) throws -> StrangerRecord {
    let genuine = token(tokens)
    let token = genuine.bytes
    let isInJSON = chance.number(1...5) == 1
    let identity = EventIdentity(idHash: 0, time: nil)
    let age = EventAge.milliseconds(Int64(chance.number(0...4_000)))
    switch chance.number(0...2) {
    case 0: return try record(.requests, try request(now), Int32(chance.number(0...Int(partitions) - 1)), isInJSON, now)
    case 1:
      let kind = ImpressionEvent.Kind.allCases.randomElement(using: &chance) ?? .viewed
      let event = ImpressionEvent(
        kind: kind, subject: .serve(token: token), age: age, error: kind == .failed ? .assetLoadFailure : nil,
        identity: identity)
      return try record(.impressions, event, partition(of: token), isInJSON, now, key: genuine.client)
    default:
      let event = ClickEvent(
        kind: .allCases.randomElement(using: &chance) ?? .click, token: token, age: age,
        actionMilliseconds: Int64(chance.number(0...3_000)), leftApplication: chance.number(0...1) == 1,
        identity: identity)
      return try record(.clicks, event, partition(of: token), isInJSON, now, key: genuine.client)
    }
  }

  private mutating func request(_ now: Timestamp) throws -> AdRequest {
    let app = [Self.app, "sudoku", "nobody"].randomElement(using: &chance) ?? Self.app
    let keys = [Self.appKey, Self.appKey, "seed-key-of-nobody", "'; DROP TABLE ad_selection.decision; --"]
    return AdRequest.sample {
      $0.requestID = UUIDv7(timestamp: now, randomHigh: chance.next(), randomLow: chance.next())
      $0.appKey = keys.randomElement(using: &chance) ?? Self.appKey
      ($0.app, $0.placement) = (known(AppID(app)), known(PlacementID(Self.placement)))
      $0.clientID = "\u{202E}stranger\u{1B}[31m\r\n-\(chance.number(0...100_000))"
      $0.sessionID = "<script>alert(1)</script>"
      $0.requiredSizes = chance.number(0...3) == 0 ? ["=cmd()"] : []
      $0.isInterstitial = chance.number(0...9) == 0
      $0.deadlineMilliseconds = [1, 1_000, 60_000].randomElement(using: &chance) ?? 1
      $0.segments = samples.flip() ? ["{{7*7}}%n"] : []
    }
  }

  private mutating func record<Message: EventMessage>(
    _ topic: Topic, _ message: Message, _ partition: Int32, _ isInJSON: Bool, _ now: Timestamp,
    key: [UInt8]? = nil
  ) throws -> StrangerRecord {
    let json = isInJSON ? try message.json().get().compactText : ""
    let headers =
      CloudEventHeaders(type: message.eventType, source: "/stranger").headers(
        id: "\(chance.next())", time: now,
        contentType: isInJSON ? CloudEventHeaders.jsonType : CloudEventHeaders.protobufType)
      + CloudEventHeaders.reply(topic: "ads.responses.\(Self.app)", partition: 0, correlationID: [1])
    return StrangerRecord(
      topic: topic, partition: partition, key: key, value: isInJSON ? Array(json.utf8) : message.encoded(),
      headers: headers)
  }

  /// Genuine ones mostly: as they are, altered, or another's.
  private mutating func token(_ tokens: [GenuineToken]) -> GenuineToken {
    guard let genuine = tokens.randomElement(using: &chance), let other = tokens.randomElement(using: &chance)?.bytes
    else {
      return GenuineToken(bytes: forger.issue(samples.terms()), client: [])
    }
    var token = genuine.bytes
    switch chance.number(0...9) {
    case 0...3: break
    case 4, 5: token[chance.number(0...token.count - 1)] ^= UInt8(1 << chance.number(0...7))
    case 6: token.removeLast(chance.number(1...token.count))
    case 7: token = Array(token.prefix(chance.number(0...token.count))) + other.suffix(chance.number(0...other.count))
    case 8: token = forger.issue(samples.terms())
    default: token += samples.bytes(1...700)
    }
    // Now and then told by somebody else.
    return GenuineToken(bytes: token, client: chance.number(0...9) == 0 ? Array("another".utf8) : genuine.client)
  }

  /// The one that the token names; sometimes another.
  private mutating func partition(of token: [UInt8]) -> Int32 {
    guard token.count > 23, chance.number(1...5) > 1 else { return Int32(chance.number(0...Int(partitions) - 1)) }
    let named = token[19..<23].reduce(0) { $0 << 8 | UInt32($1) }
    return Int32(named % UInt32(partitions))
  }

  // MARK: Changes

  private mutating func changeValue(_ record: inout StrangerRecord) {
    var value = record.value ?? []
    switch chance.number(0...11) {
    case 0...3 where !value.isEmpty:
      for _ in 0..<chance.number(1...6) {
        value[chance.number(0...value.count - 1)] ^= UInt8(1 << chance.number(0...7))
      }
    case 4: value = Array(value.prefix(chance.number(0...value.count)))
    case 5:
      let other = earlier.randomElement(using: &chance)?.value ?? []
      value = Array(value.prefix(chance.number(0...value.count))) + other.suffix(chance.number(0...other.count))
    case 6: value = samples.bytes(0...300)
    case 7: value = hostileText()
    case 8:
      record.value = nil
      return
    // A field of the largest number, an unknown one, a length beyond everything.
    case 9: value += [0x18] + [UInt8](repeating: 0xFF, count: 9) + [0x01]
    case 10: value += [0xA2, 0x06] + [UInt8](repeating: 0xFF, count: 9) + [0x01]
    default:
      // The largest of them seldom: a flood of bytes would only measure the broker.
      let size = chance.number(1...400) == 1 ? 900_000 : chance.number(1...20) == 1 ? 17_000 : 0
      value += [UInt8](repeating: UInt8(ascii: "x"), count: size)
    }
    record.value = value
  }

  private mutating func hostileText() -> [UInt8] {
    let texts = [
      String(repeating: "[", count: 10_000), "{\"a\":" + String(repeating: "{\"a\":", count: 2_000),
      #"{"kind":"KIND_VIEWED","kind":1}"#, #"{"deadlineMilliseconds":1e999}"#, #"{"ageMilliseconds":NaN}"#,
      #"{"token":"\ud800"}"#, "{}", "null", "\u{FEFF}{}", #"{"ageMilliseconds":-9223372036854775809}"#,
    ]
    return Array((texts.randomElement(using: &chance) ?? "").utf8)
  }

  private mutating func changeHeaders(_ record: inout StrangerRecord) {
    func header(_ name: String, _ value: [UInt8]?) -> RecordHeader {
      RecordHeader(name: Array(name.utf8), value: value)
    }
    switch chance.number(0...9) {
    case 0: record.headers.append(RecordHeader("kafka_replyTopic", "__consumer_offsets"))
    case 1: record.headers.append(RecordHeader("kafka_replyTopic", "ads.responses.sudoku"))
    case 2:
      let partition = [Int32(-1), 9_999, .max, .min].randomElement(using: &chance) ?? -1
      record.headers.append(header("kafka_replyPartition", withUnsafeBytes(of: partition.bigEndian) { Array($0) }))
    case 3: record.headers.append(header("handbill_forwarded", samples.bytes(0...40)))
    case 4: record.headers.append(RecordHeader("content-type", "text/plain"))
    case 5: record.headers.append(RecordHeader("ce_type", "org.handbill.click.tapped.v2"))
    case 6: record.headers.removeAll { _ in chance.number(0...2) == 0 }
    case 7: record.headers.append(header("ce_id", nil))
    case 8: record.headers = []
    default:
      let count = chance.number(1...100) == 1 ? 10_000 : 70
      record.headers += (0..<count).map { RecordHeader("header-\($0)", "value") }
      if chance.number(1...200) == 1 {
        record.headers.insert(header("kafka_correlationId", [UInt8](repeating: 1, count: 900_000)), at: 0)
      }
    }
  }

  // MARK: Topics that only services write

  /// Whole ones too, as a service writes them, but for the MAC.
  private mutating func internalRecord() -> StrangerRecord {
    let topics: [Topic] = [.acceptedImpressions, .acceptedClicks, .usage, .budgets, .catalog]
    let topic = topics.randomElement(using: &chance) ?? .usage
    let (type, encoded): (EventType, [UInt8]) =
      switch topic {
      case .acceptedImpressions: (.impressionAccepted, samples.acceptedImpression().encoded())
      case .acceptedClicks: (.clickAccepted, samples.acceptedClick().encoded())
      case .usage: (.allotmentReported, samples.usage().encoded())
      case .budgets: (.allotmentGranted, samples.budget().encoded())
      default: (.catalogChanged, samples.catalog().encoded())
      }
    var record = StrangerRecord(
      topic: topic, partition: topic == .catalog ? 0 : Int32(chance.number(0...Int(partitions) - 1)),
      key: topic == .catalog ? Array("stranger-\(chance.number(0...99))".utf8) : nil, value: encoded,
      headers: CloudEventHeaders(type: type, source: "/stranger")
        .headers(id: "1", time: Timestamp(milliseconds: 0)))
    changeValue(&record)
    return record
  }
}
