package import AdCore
internal import AdEvents

/// Which rejected records are meant.
package struct RejectedQuery: Hashable, Sendable {
  /// As in a reference, such as `click-tracking`.
  package var service: String?
  package var topic: String?
  package var reasons: [RejectionReason]
  /// Those that arrived from this moment on, and before that one.
  package var since: Timestamp?
  package var until: Timestamp?
  /// Only these; empty for all.
  package var references: [RejectedReference]
  /// The most records; of those in question the latest.
  package var rowsMaximum: Int

  /// The most records of any answer.
  package static let rowsLimit = 10_000

  package init(
    service: String? = nil, topic: String? = nil, reasons: [RejectionReason] = [], since: Timestamp? = nil,
    until: Timestamp? = nil, references: [RejectedReference] = [], rowsMaximum: Int = 100
  ) {
    self.service = service
    self.topic = topic
    self.reasons = reasons
    self.since = since
    self.until = until
    self.references = references
    self.rowsMaximum = min(max(1, rowsMaximum), Self.rowsLimit)
  }

  /// Whether it names anything that narrows the answer.
  package var isSelective: Bool {
    service != nil || topic != nil || !reasons.isEmpty || since != nil || until != nil || !references.isEmpty
  }
}

/// Names a rejected record for people: `click-tracking/ads.clicks/3/1207`. After a log was replaced the same place may
/// have held two records; both are meant.
package struct RejectedReference: Hashable, Sendable, CustomStringConvertible {
  package var service: String
  package var topic: String
  package var partition: Int32
  package var offset: Int64

  package init(service: String, topic: String, partition: Int32, offset: Int64) {
    self.service = service
    self.topic = topic
    self.partition = partition
    self.offset = offset
  }

  /// Nil unless `text` has the four parts.
  package init?(_ text: String) {
    let parts = text.split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, !parts[0].isEmpty, !parts[1].isEmpty, let partition = Int32(parts[2]), partition >= 0,
      let offset = Int64(parts[3]), offset >= 0
    else { return nil }
    self.init(service: String(parts[0]), topic: String(parts[1]), partition: partition, offset: offset)
  }

  package var description: String { "\(service)/\(topic)/\(partition)/\(offset)" }
}
