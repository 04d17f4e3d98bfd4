package import AdCore
internal import AdEvents
internal import Crypto
internal import Pipeline
package import Records

/// A rejected record as its service's table keeps it.
package struct KeptRecord: Hashable, Sendable {
  package var reference: RejectedReference
  package var batchNumber: Int64
  package var arrival: Timestamp
  /// A number of ``RejectionReason``.
  package var reasonNumber: UInt8
  package var detail: String
  /// The kept bytes; nil for a null value, beyond the limits, and where a list does not read them.
  package var value: [UInt8]?
  /// How many bytes are kept.
  package var keptBytes: Int64
  /// The original length; -1 for a null value.
  package var valueLength: Int64
  /// SHA-256 of the original value.
  package var valueHash: [UInt8]
  package var key: [UInt8]?
  /// Nil where the record was beyond the limits.
  package var headers: [RecordHeader]?

  /// The header of a record that was sent again, with the reference of what was rejected. Nobody who decodes heeds it.
  package static let replayHeader = "handbill_replay_of"

  package var reason: RejectionReason? { RejectionReason(rawValue: reasonNumber) }

  /// Whether nothing was cut or left out for its length: headers are there, and as many bytes of the value as it had.
  /// What names its client may have become illegible in them: ``isHashRight`` tells.
  package var isWhole: Bool { headers != nil && keptBytes == max(valueLength, 0) }

  /// Whether the bytes that were read are those that were rejected.
  package var isHashRight: Bool { SHA256.hash(value ?? []) == valueHash }

  /// The reference of the record that this one is a replay of.
  package var replayOf: String? {
    headers?.last { $0.name.elementsEqual(Self.replayHeader.utf8) }.map(\.text)
  }

  /// The headers as a decoder reads them.
  var envelope: RecordHeaders {
    var envelope = RecordHeaders()
    for header in headers ?? [] { envelope.add(header) }
    return envelope
  }
}

/// How many records were rejected for one reason.
package struct RejectedCount: Hashable, Sendable {
  package var service: String
  package var topic: String
  package var reasonNumber: UInt8
  package var records: Int64
  /// How many of them are kept whole.
  package var whole: Int64
  package var first: Timestamp
  package var last: Timestamp

  package var reason: RejectionReason? { RejectionReason(rawValue: reasonNumber) }
}

/// The batch that rejected a record.
package struct RejectingBatch: Hashable, Sendable {
  package var committedAt: Timestamp
  /// Of the record's topic.
  package var firstOffset: Int64
  package var nextOffset: Int64
  /// When its first and its last record arrived.
  package var arrivals: ClosedRange<Timestamp>?
}
