import AdCore
import AdEvents
import Crypto
import Pipeline
import Records

/// The MAC of a message between services, and the mark of its writer's database under it, as they come in a record's
/// headers. The first byte says what the record has, and by its lowest bit whether its MAC is made properly, so that what
/// lies behind it is reached as well; then the mark and the key, each with its length before it, else the MAC, then the
/// value.
enum MessageMACTarget {
  static let target = FuzzTarget(
    "message-mac", inputBytesMaximum: 512, words: [timeline, ".1.2", ".9223372036854775807."], seeds: { seeds },
    fault: fault)

  private static let timeline = "01234567-89ab-cdef-0123-456789abcdef"
  private static let topics = Topic.allCases.filter(\.isAuthenticated).map(\.name)

  /// What an input says of a record.
  private struct Record {
    var isAuthentic: Bool
    var topic: String
    var partition: Int32
    var mark: [UInt8]?
    var key: [UInt8]?
    var mac: [UInt8]
    var value: [UInt8]?

    init?(_ input: UnsafeRawBufferPointer) {
      guard let choice = input.first else { return nil }
      var rest = input.dropping(1)
      func part(_ length: Int) -> [UInt8] {
        defer { rest = rest.dropping(length) }
        return Array(rest.prefix(length))
      }
      func short() -> [UInt8] { part(Int(part(1).first ?? 0)) }
      isAuthentic = choice & 1 == 1
      topic = topics[Int(choice >> 4) % topics.count]
      partition = Int32(bitPattern: UInt32(part(1).first ?? 0)) - 1
      mark = choice & 2 == 0 ? nil : short()
      key = choice & 4 == 0 ? nil : short()
      mac = isAuthentic ? [] : part(MessageMAC.byteCount)
      value = choice & 8 == 0 ? nil : Array(rest)
    }

    /// Under the key that signs.
    func made(by mac: MessageMAC) -> [UInt8] {
      withOptionalBytes(mark) { mark in
        withOptionalBytes(key) { key in
          withOptionalBytes(value) { value in
            mac.make(topic: topic, partition: partition, key: key, value: value, mark: mark, now: FuzzKeys.now)
          }
        }
      }
    }

    func isBelieved(_ received: ReceivedMAC, by mac: MessageMAC, partition: Int32, value: [UInt8]?) -> Bool {
      withOptionalBytes(key) { key in
        withOptionalBytes(value) { value in
          received.rejection(by: mac, topic: topic, partition: partition, key: key, value: value) == nil
        }
      }
    }
  }

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    guard let record = Record(input) else { return nil }
    guard let ring = FuzzKeys.ring, let mac = try? MessageMAC(ring: ring) else { return "there are no keys" }
    let own = record.made(by: mac)
    let told = record.isAuthentic ? own : record.mac
    var received = ReceivedMAC()
    for (name, value) in [(MessageMAC.headerName, told), (TimelineMark.headerName, record.mark)]
      as [(StaticString, [UInt8]?)]
    {
      guard let value else { continue }
      Array("\(name)".utf8).withUnsafeBytes { name in value.withUnsafeBytes { received.header(name: name, value: $0) } }
    }
    let isBelieved = record.isBelieved(received, by: mac, partition: record.partition, value: record.value)
    // A longer mark is none, so the MAC is another record's.
    let isLong = record.mark.map { $0.count > TimelineMark.byteCountMaximum } ?? false
    guard isBelieved == (told == own && !isLong) else {
      return isBelieved ? "a MAC was believed that nobody made" : "a MAC of ours is not believed"
    }
    if isBelieved, record.isBelieved(received, by: mac, partition: record.partition &+ 1, value: record.value) {
      return "it is believed in another partition"
    }
    if isBelieved, record.isBelieved(received, by: mac, partition: record.partition, value: (record.value ?? []) + [0])
    {
      return "it is believed of another value"
    }
    guard let mark = received.mark else { return nil }
    return Array(mark.text.utf8) == record.mark ? nil : "a mark was read that is written otherwise"
  }

  private static var seeds: [[UInt8]] {
    guard let ring = FuzzKeys.ring, let mac = try? MessageMAC(ring: ring) else { return [] }
    let mark = Array("\(timeline).12.7".utf8)
    return [
      [0b1111, 4, UInt8(mark.count)] + mark + [3, 97, 98, 99] + [1, 2, 3], [0b11_1001, 1, 1, 2],
      [0b1, 0], [0b10_0111, 2, 2, 43, 49, 1, 7],
    ].flatMap { authentic -> [[UInt8]] in
      guard let record = authentic.withUnsafeBytes({ Record($0) }) else { return [] }
      let head = authentic.dropLast(record.value?.count ?? 0)
      return [authentic, [authentic[0] & 0xFE] + head.dropFirst() + record.made(by: mac) + (record.value ?? [])]
    }
  }
}

/// How far its writer's database had come, as text.
enum TimelineMarkTarget {
  static let target = FuzzTarget(
    "timeline-mark", inputBytesMaximum: 128,
    words: ["01234567-89ab-cdef-0123-456789abcdef", ".0.0", "+1", "9223372036854775807"],
    seeds: {
      ["01234567-89ab-cdef-0123-456789abcdef.12.7", "ffffffff-ffff-ffff-ffff-ffffffffffff.0.9223372036854775807"].map {
        Array($0.utf8)
      }
    }, fault: fault)

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    guard let mark = TimelineMark(input.text) else { return nil }
    guard mark.sequence >= 0, mark.batch >= 0 else { return "less than nothing was committed" }
    guard mark.text.utf8.count <= TimelineMark.byteCountMaximum else { return "it is longer than a mark may be" }
    return Array(mark.text.utf8) == Array(input) ? nil : "a mark was read that is written otherwise"
  }
}

/// What the edge saw, under its MAC. After an even byte stands the mark itself, after an odd one what a mark says in clear,
/// which is signed properly; then the record's key with its length before it, and the value.
enum EdgeMarkTarget {
  static let target = FuzzTarget("edge-mark", inputBytesMaximum: 256, seeds: { seeds }, fault: fault)

  private static let sightBytes = 7

  private static func fault(_ input: UnsafeRawBufferPointer) -> String? {
    guard let choice = input.first else { return nil }
    guard let ring = FuzzKeys.ring, let edge = try? EdgeMark(ring: ring) else { return "there are no keys" }
    let isAuthentic = choice & 1 == 1
    var rest = input.dropping(1)
    let told = Array(rest.prefix(isAuthentic ? sightBytes : EdgeMark.byteCount))
    rest = rest.dropping(told.count)
    let key = Array(rest.dropping(1).prefix(Int(rest.first ?? 0)))
    let value = Array(rest.dropping(1 + key.count))
    guard let mark = isAuthentic ? signed(told, key: key, value: value) : told else { return "there are no keys" }
    func sight(key: [UInt8], value: [UInt8]) -> EdgeSight? {
      mark.withUnsafeBytes { mark in
        key.withUnsafeBytes { key in
          value.withUnsafeBytes { edge.sight(mark, key: key, value: $0, now: FuzzKeys.now) }
        }
      }
    }
    guard let seen = sight(key: key, value: value) else { return nil }
    let own = key.withUnsafeBytes { key in
      value.withUnsafeBytes { edge.make(seen, key: key, value: $0, now: FuzzKeys.now) }
    }
    if own != mark { return "a mark was taken that no edge makes" }
    return sight(key: key + [0], value: value) ?? sight(key: key, value: value + [0]) == nil
      ? nil : "it is taken of another record"
  }

  /// The derivation of the key and what is signed are written here again, so that a change of them is seen.
  private static func signed(_ told: [UInt8], key: [UInt8], value: [UInt8]) -> [UInt8]? {
    guard let derived = try? HMACSHA256(key: FuzzKeys.secret).authenticate("handbill edge mark".utf8),
      let signing = try? HMACSHA256(key: derived)
    else { return nil }
    let length = UInt32(key.count)
    let head = told + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) }
    return Array(Base64.encode([0, 1] + told + signing.authenticate(head + key + value).prefix(16)).utf8)
  }

  private static var seeds: [[UInt8]] {
    guard let ring = FuzzKeys.ring, let edge = try? EdgeMark(ring: ring) else { return [] }
    let (key, value): ([UInt8], [UInt8]) = ([7, 8], [9])
    let sights = [
      EdgeSight(country: Country("DE"), agent: .app, isDataCentre: false, isKnownBot: true, network: 0xC0DE_0001),
      EdgeSight(country: nil, agent: .tool, isDataCentre: true, isKnownBot: false),
    ]
    let marks = sights.map { sight in
      key.withUnsafeBytes { key in
        value.withUnsafeBytes { edge.make(sight, key: key, value: $0, now: FuzzKeys.now) }
      }
    }
    return marks.map { [0] + $0 + [UInt8(key.count)] + key + value }
      + [
        [1, 0x13, 0x44, 0x45, 0, 0, 0, 1, 2], [1, 0x31, 0, 0, 0, 0, 0, 0, 0, 5], [1, 2, 0xFF, 0xFF, 1, 2, 3, 4],
        [1, 0xF1, 0, 0, 0, 0, 0, 0],
      ].map { $0 + key }
  }
}
