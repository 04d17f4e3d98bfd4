internal import AdBasics
internal import Hashes
internal import JSON
package import Records

/// What may be kept of a record that was rejected (A8): nothing that names its client, and no app's key.
///
/// Of a message that has fields for them, these and whatever the schema does not know become asterisks. What cannot be read
/// to its end is not kept, since nobody can say where they stand in it. Of the headers those stay that a service
/// reads, but for the edge's mark: it tells of which network its client is, and binds bytes that are not kept. The key, which
/// is the client's id or the session's, stays with an event of a served ad alone, for some days: nobody else's events count,
/// so without it none could be sent again.
package struct RedactedRecord: Hashable, Sendable {
  package var key: [UInt8]?
  package var value: [UInt8]?
  package var headers: [RecordHeader]

  /// Fields, as the schema writes them, whose content is nobody's but the app's and its user's.
  static let secretFields: Set = ["app_key", "client_id", "reference", "session_id"]
  /// What clients write, by topic.
  private static let messages = [
    Topic.requests.name: AdRequest.schemaName, Topic.impressions.name: ImpressionEvent.schemaName,
    Topic.clicks.name: ClickEvent.schemaName,
  ]
  private static let headerNames: Set<[UInt8]> = Set(
    [
      "ce_id", "ce_type", "ce_time", "ce_specversion", "ce_source", "content-type", "kafka_replyTopic",
      "kafka_replyPartition", "kafka_correlationId", "handbill_forwarded", "handbill_mac",
      "handbill_replay_of",
    ].map { Array($0.utf8) })
  /// Shorter ones stand everywhere by chance.
  private static let secretBytesMinimum = 4
  /// The most fields of a record that are made illegible: each is looked for in all that is kept, and whoever writes may invent
  /// as many as a record has room for. What has more is not kept.
  static let secretsMaximum = 16

  /// What may be kept of a record of `topic`.
  package init(topic: String, key: [UInt8]?, value: [UInt8]?, headers: [RecordHeader]) {
    guard let message = Self.messages[topic] else {
      // Services write nothing of that into each other's topics.
      (self.key, self.value, self.headers) = (key, value, headers)
      return
    }
    var redaction = Redaction()
    var envelope = RecordHeaders(hashesID: false)
    for header in headers { envelope.add(header) }
    let isSecretive = Redaction.isSecretive(message)
    self.value = isSecretive ? value.flatMap { redaction.redacted($0, message, envelope) } : value
    let isReadWhole = !isSecretive || value == nil || self.value != nil
    self.headers = headers.filter { header in
      guard isSecretive else { return true }
      let isAny = header.name.elementsEqual("ce_source".utf8) || header.name.elementsEqual("kafka_correlationId".utf8)
      return Self.headerNames.contains(header.name) && (isReadWhole || !isAny)
        && !redaction.names(header.value ?? [])
    }
    self.key = topic != Topic.requests.name && isReadWhole && redaction.isClean ? key : nil
  }

  /// Goes through one message, and remembers what it has made illegible.
  private struct Redaction {
    private var secrets: Set<[UInt8]> = []

    static func isSecretive(_ message: String) -> Bool {
      guard let shape = MessageShape.all[message] else { return true }
      return shape.fields.contains { field in
        if case .message(let inner) = field.kind { return isSecretive(inner) }
        return RedactedRecord.secretFields.contains(field.name)
      }
    }

    /// Whether nothing was made illegible.
    var isClean: Bool { secrets.isEmpty }

    /// Whether something stands there that was made illegible elsewhere.
    func names(_ bytes: [UInt8]) -> Bool {
      secrets.contains { $0.count >= RedactedRecord.secretBytesMinimum && Self.contains(bytes, $0) }
    }

    /// Nil where it cannot be read to its end, or names its client in places that are for something else.
    mutating func redacted(_ value: [UInt8], _ message: String, _ envelope: RecordHeaders) -> [UInt8]? {
      guard value.count <= FieldLimits.legibleValueBytesMaximum else { return nil }
      let isJSON = value.withUnsafeBytes { envelope.isJSON(value: $0) }
      guard isJSON else { return protobuf(value, message).flatMap { names($0) ? nil : $0 } }
      guard let parsed = value.withUnsafeBytes({ try? ProtobufJSON.value($0) }) else { return nil }
      let json =
        envelope.contentType == .cloudEventsJSON ? event(parsed, message) : self.json(parsed, message)
      return json.flatMap { isNamed(in: $0) ? nil : Array($0.compactText.utf8) }
    }

    // MARK: Protobuf

    private mutating func protobuf(_ value: [UInt8], _ message: String) -> [UInt8]? {
      var result = value
      let isRead = result.withUnsafeMutableBytes { bytes in
        do throws(Rejection) {
          try cover(bytes, message)
          return true
        } catch { return false }
      }
      return isRead ? result : nil
    }

    private mutating func cover(_ bytes: UnsafeMutableRawBufferPointer, _ message: String) throws(Rejection) {
      let fields = MessageShape.all[message]?.fields ?? []
      var reader = WireReader(UnsafeRawBufferPointer(bytes))
      while try reader.next() {
        switch reader.wireType {
        case .bytes: break
        case .groupStart, .groupEnd: throw Rejection(.malformed, "a group, which nothing of ours writes")
        case .varint, .fixed32, .fixed64:
          try reader.skip()
          continue
        }
        let content = try reader.bytes()
        guard let start = content.baseAddress, let first = bytes.baseAddress else { continue }
        let offset = start - UnsafeRawPointer(first)
        let covered = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + content.count])
        let field = fields.first { $0.number == reader.field }
        if case .message(let inner)? = field?.kind {
          try cover(covered, inner)
        } else if field.map({ RedactedRecord.secretFields.contains($0.name) }) ?? true {
          guard secrets.count < RedactedRecord.secretsMaximum else {
            throw Rejection(.malformed, "more that the schema does not know than anybody looks for")
          }
          secrets.insert(Array(covered))
          for index in covered.indices { covered[index] = UInt8(ascii: "*") }
        }
      }
    }

    // MARK: JSON

    /// A CloudEvent in structured mode.
    private mutating func event(_ value: JSONValue, _ message: String) -> JSONValue? {
      guard case .object(let members) = value else { return nil }
      var kept: [JSONValue.Member] = []
      for member in members {
        switch (member.name, member.value) {
        case ("data", let data):
          guard let data = json(data, message) else { return nil }
          kept.append(.init("data", data))
        case ("data_base64", .text(let text)):
          guard let data = ProtobufJSON.base64(text).flatMap({ protobuf($0, message) }), !names(data) else {
            return nil
          }
          kept.append(.init("data_base64", .text(Base64.encode(data))))
        case ("id", _), ("type", _), ("source", _), ("specversion", _), ("time", _): kept.append(member)
        default: continue
        }
      }
      return .object(kept)
    }

    private mutating func json(_ value: JSONValue, _ message: String) -> JSONValue? {
      guard case .object(let members) = value else { return nil }
      let fields = MessageShape.all[message]?.fields ?? []
      var kept: [JSONValue.Member] = []
      for member in members {
        guard let field = fields.first(where: { [$0.name, $0.jsonName].contains(member.name) }) else { continue }
        if RedactedRecord.secretFields.contains(field.name) {
          kept.append(.init(member.name, covered(member.value)))
        } else if case .message(let inner) = field.kind {
          kept.append(.init(member.name, json(member.value, inner) ?? .null))
        } else {
          kept.append(member)
        }
      }
      return .object(kept)
    }

    private mutating func covered(_ value: JSONValue) -> JSONValue {
      guard case .text(let text) = value else { return value == .null ? .null : .text("*") }
      secrets.insert(Array(text.utf8))
      return .text(String(repeating: "*", count: text.utf8.count))
    }

    private func isNamed(in value: JSONValue) -> Bool {
      switch value {
      case .null, .flag: false
      case .number(let text), .text(let text): names(Array(text.utf8))
      case .list(let elements): elements.contains(where: isNamed)
      case .object(let members): members.contains { isNamed(in: $0.value) }
      }
    }

    private static func contains(_ bytes: [UInt8], _ part: [UInt8]) -> Bool {
      guard bytes.count >= part.count else { return false }
      return (0...bytes.count - part.count).contains { bytes[$0..<$0 + part.count].elementsEqual(part) }
    }
  }
}
