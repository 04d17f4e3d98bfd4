/// Which history of commits a database has: another one since commits were lost and a person has accepted it. As text, a
/// UUID.
package struct TimelineID: Hashable, Sendable, CustomStringConvertible {
  package let text: String

  /// Nil unless `text` is as PostgreSQL writes a UUID.
  package init?(_ text: some StringProtocol) {
    let isDigit = { (byte: UInt8) in (48...57).contains(byte) || (97...102).contains(byte) }
    let dashes = [8, 13, 18, 23]
    guard text.utf8.count == Self.byteCount,
      text.utf8.enumerated().allSatisfy({ dashes.contains($0) ? $1 == UInt8(ascii: "-") : isDigit($1) })
    else { return nil }
    self.text = String(text)
  }

  package var description: String { text }

  fileprivate static let byteCount = 36
}

/// How far its writer's database had come when a message between services was sent: a header of it, under its MAC. A
/// database that knows less than its topics tell has lost commits, since a commit always comes before its messages.
package struct TimelineMark: Hashable, Sendable {
  package var timeline: TimelineID
  /// The last sequence of the topic and partition that the writer had committed; not lower than any that was sent before.
  package var sequence: Int64
  /// The writer's last batch of that partition.
  package var batch: Int64

  /// The header that carries it.
  package static let headerName: StaticString = "handbill_timeline"
  /// The most that it can have, in bytes: the timeline, two dots, two numbers.
  package static let byteCountMaximum = TimelineID.byteCount + 2 + 2 * 19

  package init(timeline: TimelineID, sequence: Int64, batch: Int64) {
    self.timeline = timeline
    self.sequence = sequence
    self.batch = batch
  }

  /// Reads what ``text`` wrote; nil for anything else, be it the same in another way.
  package init?(_ text: String) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let timeline = TimelineID(parts[0]), let sequence = Int64(parts[1]), sequence >= 0,
      let batch = Int64(parts[2]), batch >= 0
    else { return nil }
    self.init(timeline: timeline, sequence: sequence, batch: batch)
    guard self.text == text else { return nil }
  }

  package var text: String { "\(timeline).\(sequence).\(batch)" }
}
