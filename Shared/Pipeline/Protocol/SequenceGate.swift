import AdCore
import AdEvents

/// Decides which records of an input with sequences are taken: each sequence once, in order, none left out.
///
/// Not higher than the last taken is a duplicate; the next is taken; one further on shows a hole and is not taken: it
/// comes again once the producing service was told what is missing.
package struct SequenceGate: Hashable, Sendable {
  /// A hole that stays is told again after this time.
  package static let noticeIntervalMilliseconds: Int64 = 5_000

  package private(set) var takenSequence: Int64
  package private(set) var takenWatermark: Timestamp
  /// Shown by a record or a watermark, and not closed since.
  private var isHoleOpen = false
  private var noticedSequence: Int64 = 0
  private var noticedAt = Timestamp(milliseconds: .min)

  package init(_ position: InputPosition) {
    takenSequence = position.takenSequence
    takenWatermark = position.takenWatermark
  }

  /// Nil: the record is to be decided; else its outcome stands already.
  package mutating func admit(_ mark: SequenceMark) -> Outcome? {
    switch mark {
    case .unnumbered:
      return nil
    case .number(let sequence):
      if sequence <= takenSequence { return .duplicate }
      guard sequence == takenSequence + 1 else {
        isHoleOpen = true
        return .ahead
      }
      takenSequence = sequence
      isHoleOpen = false
      return nil
    case .watermark(let watermark):
      if watermark.sequence <= takenSequence {
        takenWatermark = max(takenWatermark, watermark.time)
      } else {
        isHoleOpen = true
      }
      return .noted
    }
  }

  /// The sequence to tell as missing now, if there is one: at once for a new hole, and again while it stays.
  package mutating func notice(now: Timestamp) -> Int64? {
    guard isHoleOpen else { return nil }
    let missing = takenSequence + 1
    if missing == noticedSequence, now.milliseconds(since: noticedAt) < Self.noticeIntervalMilliseconds { return nil }
    noticedSequence = missing
    noticedAt = now
    return missing
  }
}
