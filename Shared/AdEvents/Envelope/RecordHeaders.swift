package import AdCore
internal import Crypto
package import Records

/// What a record's Kafka headers say: CloudEvents' attributes in binary mode, the content type, and where an answer
/// goes. It is filled header by header while the log's memory is there, keeps only what is needed, and allocates
/// nothing for the headers of an event.
package struct RecordHeaders: Hashable, Sendable {
  /// What `ce_type` says.
  package enum TypeHeader: Hashable, Sendable {
    case absent
    case known(EventType)
    case unknown
  }

  package var contentType = ContentType.absent
  /// The first 8 bytes of SHA-256 over `ce_id`, big-endian; nil without a valid `ce_id`, 0 where it is not asked for.
  package var idHash: UInt64?
  package var type = TypeHeader.absent
  /// Whether there is a `ce_source`.
  package var hasSource = false
  /// Whether `ce_specversion` is `1.0`; nil without the header.
  package var isSpecVersionKnown: Bool?
  /// `ce_time`, where there is one.
  package var time: Timestamp?
  /// `kafka_replyTopic`; empty without it.
  package var replyTopic = ""
  /// `kafka_replyPartition`, 4 bytes big-endian; nil without it.
  package var replyPartition: Int32?
  /// The reply topic or the reply partition is there, and cannot be one.
  package private(set) var isReplyInvalid = false
  /// `kafka_correlationId`; empty without it.
  package var correlationID: [UInt8] = []
  /// `handbill_forwarded`: the mark under our MAC that a request was forwarded. Ad selection verifies it.
  package var forwardedMark: [UInt8] = []
  /// `handbill_edge`: the mark under our MAC that a request came by the edge. Ad selection verifies it.
  package var edgeMark: [UInt8] = []
  /// The headers that are invalid in themselves.
  package var problem: Rejection?

  private static let furtherMistakesMaximum = 8
  private let hashesID: Bool

  /// - Parameter hashesID: whether ``idHash`` is needed. What is known by another id, such as an impression by its serve,
  ///   only has to have a `ce_id`; hashing it would cost as much as checking the token.
  package init(hashesID: Bool = true) { self.hashesID = hashesID }

  /// Takes one header. Names that nobody knows are ignored; of two with one name the later counts.
  package mutating func add(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer?) {
    let value = value ?? UnsafeRawBufferPointer(start: nil, count: 0)
    switch name.count {
    case 5 where name.equals("ce_id"): addID(value)
    case 7 where name.equals("ce_type"):
      type = EventType(bytes: value).map(TypeHeader.known) ?? .unknown
    case 7 where name.equals("ce_time"): addTime(value)
    case 9 where name.equals("ce_source"): hasSource = !value.isEmpty
    case 12 where name.equals("content-type"): contentType = ContentType(header: value)
    case 14 where name.equals("ce_specversion"): isSpecVersionKnown = value.equals("1.0")
    default: addReplyHeader(name: name, value: value)
    }
  }

  package mutating func add(_ header: RecordHeader) { header.withUnsafeBytes { add(name: $0, value: $1) } }

  /// Whether a record's value is JSON, or meant as such: then the answer to it is JSON, too.
  package func isJSON(value: UnsafeRawBufferPointer?) -> Bool {
    contentType == .json || contentType == .cloudEventsJSON || value?.first == UInt8(ascii: "{")
  }

  /// Whether any of the attributes that CloudEvents requires is there.
  var hasEnvelope: Bool { idHash != nil || type != .absent || hasSource || isSpecVersionKnown != nil }

  /// Keeps a mistake: of many headers the first few.
  private mutating func note(_ mistake: Rejection) {
    guard var first = problem else {
      problem = mistake
      return
    }
    if first.further.count < Self.furtherMistakesMaximum { first.further.append(mistake) }
    problem = first
  }

  private mutating func addID(_ value: UnsafeRawBufferPointer) {
    guard (1...FieldLimits.headerBytesMaximum).contains(value.count) else {
      idHash = nil
      note(Rejection(.invalidEnvelope, "ce_id is empty or too long"))
      return
    }
    idHash = hashesID ? SHA256.hash64(value) : 0
  }

  private mutating func addTime(_ value: UnsafeRawBufferPointer) {
    time = Timestamp(eventTime: value)
    if time == nil {
      note(Rejection(.invalidEnvelope, "ce_time is no time of RFC 3339, such as 2010-07-01T12:00:00.000Z"))
    }
  }

  private mutating func addReplyHeader(name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
    switch name.count {
    case 16 where name.equals("kafka_replyTopic"):
      do {
        replyTopic = try FieldValue.text(value, "kafka_replyTopic", maximum: FieldLimits.topicBytesMaximum)
      } catch {
        isReplyInvalid = true
        note(Rejection(.invalidReply, error.sentence))
      }
    case 13 where name.equals("handbill_edge"):
      edgeMark = value.count <= FieldLimits.headerBytesMaximum ? Array(value) : []
    case 18 where name.equals("handbill_forwarded"):
      // One that is too long is none of ours: it stays empty and verifies nothing.
      forwardedMark = value.count <= FieldLimits.headerBytesMaximum ? Array(value) : []
    case 19 where name.equals("kafka_correlationId"):
      if value.count > FieldLimits.correlationIDBytesMaximum {
        note(
          Rejection(
            .invalidReply,
            "kafka_correlationId has \(value.count) bytes; \(FieldLimits.correlationIDBytesMaximum) may be"))
      } else {
        correlationID = Array(value)
      }
    case 20 where name.equals("kafka_replyPartition"):
      guard value.count == 4 else {
        isReplyInvalid = true
        note(
          Rejection(
            .invalidReply, "kafka_replyPartition has \(value.count) bytes: give 4, the number big-endian"))
        return
      }
      replyPartition = Int32(bigEndian: value.loadUnaligned(as: Int32.self))
    default: break
    }
  }
}

extension Timestamp {
  /// The time of an event, as its header says it; nil for anything that is no RFC 3339 time between 1970 and 9999.
  package init?(eventTime bytes: UnsafeRawBufferPointer) {
    self.init(rfc3339: bytes)
    guard (0...FieldLimits.timestampMaximum).contains(milliseconds) else { return nil }
  }
}
