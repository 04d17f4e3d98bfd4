/// What a probe of a log found.
package struct TopicProbe: Hashable, Sendable {
  package var firstOffset: Int64
  /// The offset after the last record.
  package var endOffset: Int64
  /// The record at the position's last offset; nil where there is none.
  package var record: RecordIdentity?

  package init(firstOffset: Int64, endOffset: Int64, record: RecordIdentity?) {
    self.firstOffset = firstOffset
    self.endOffset = endOffset
    self.record = record
  }
}

/// Whether a stored position still belongs to the log that is there.
package enum TopicIdentity: Hashable, Sendable {
  case same
  /// The log begins after the position: retention removed `range` before it was read.
  case gap(Range<Int64>)
  /// Another log stands in its place, and why we think so.
  case replaced(String)

  /// A last record that lies before the log's start was removed by retention and proves nothing.
  package static func check(_ position: InputPosition, against probe: TopicProbe) -> TopicIdentity {
    if probe.endOffset < position.nextOffset {
      return .replaced("the log ends at \(probe.endOffset), the position is \(position.nextOffset)")
    }
    if let last = position.last, last.offset >= probe.firstOffset {
      guard let record = probe.record else {
        return .replaced("the log has no record at offset \(last.offset), where one was read")
      }
      guard record == last else { return .replaced("the record at offset \(last.offset) is not the one that was read") }
    }
    return probe.firstOffset > position.nextOffset ? .gap(position.nextOffset..<probe.firstOffset) : .same
  }
}
