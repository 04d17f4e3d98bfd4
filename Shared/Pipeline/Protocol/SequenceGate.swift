package import AdCore
internal import AdEvents

/// Decides which records of an input with sequences are consumed: each sequence once, in order, none left out.
///
/// Not higher than the last consumed is a duplicate; the next is consumed; one further on shows a gap and is not: it
/// comes again once the producing service was told what is missing. What that service says is lost is stepped over.
///
/// The events of a run are looked at one by one: of a run that begins before the last consumed, the rest is consumed. So a
/// producer may cut its events into other runs each time that it publishes them.
///
/// Sequences of commits that the database has lost are stepped over: whatever has one is not consumed.
package struct SequenceGate: Hashable, Sendable {
  /// A gap that stays is told again after this time, then after twice that, and so on up to the longest: each time
  /// everything behind it is published again, and that may take a while to come.
  package static let requestIntervalMilliseconds: Int64 = 5_000
  package static let requestIntervalMillisecondsMaximum: Int64 = 640_000

  package private(set) var consumedSequence: Int64
  package private(set) var consumedWatermark: Timestamp
  /// Shown by a record or a watermark, and not closed since.
  private var isHoleOpen = false
  private var requestedSequence: Int64 = 0
  private var nextRequest = Timestamp(milliseconds: .min)
  private var requestInterval = Self.requestIntervalMilliseconds
  /// Lost with their commits; rising, few.
  private let lost: [Range<Int64>]

  /// - Parameter lost: sequences of the input that belong to lost commits.
  package init(_ position: InputPosition, lost: [Range<Int64>] = []) {
    consumedSequence = position.consumedSequence
    consumedWatermark = position.consumedWatermark
    self.lost = lost
    stepOverLost()
  }

  private mutating func stepOverLost() {
    for range in lost where consumedSequence < .max && range.contains(consumedSequence + 1) {
      consumedSequence = range.upperBound - 1
    }
  }

  private func isLost(_ sequence: Int64) -> Bool { lost.contains { $0.contains(sequence) } }

  /// A watermark of lost commits: what it says of times was decided anew since. The last sequence of each range was never
  /// given, so that a watermark which names it is the first of those that hold again.
  private func isLost(_ watermark: Watermark) -> Bool {
    watermark.firstLostSequence == 0
      && lost.contains { $0.contains(watermark.sequence) && watermark.sequence < $0.upperBound - 1 }
  }

  /// Nil: the record is to be decided; else its outcome stands already.
  package mutating func admit(_ sequence: RecordSequence) -> Outcome? {
    switch sequence {
    case .unnumbered:
      return nil
    case .number(let sequence):
      if isLost(sequence) { return .lost }
      if sequence <= consumedSequence { return .duplicate }
      guard sequence - 1 == consumedSequence else {
        isHoleOpen = true
        return .ahead
      }
      consumedSequence = sequence
      isHoleOpen = false
      stepOverLost()
      return nil
    case .watermark(let watermark) where isLost(watermark):
      return .lost
    case .watermark(let watermark):
      let lost = watermark.firstLostSequence
      if lost > 0, lost - 1 <= consumedSequence, watermark.sequence > consumedSequence {
        consumedSequence = watermark.sequence
        isHoleOpen = false
        stepOverLost()
      }
      if watermark.sequence <= consumedSequence {
        consumedWatermark = max(consumedWatermark, watermark.time)
      } else {
        isHoleOpen = true
      }
      return .noted
    }
  }

  /// The sequence to ask for now, if there is one: at once for a new gap, and again while it stays.
  package mutating func gapRequest(now: Timestamp) -> Int64? {
    guard isHoleOpen, consumedSequence < .max else { return nil }
    let missing = consumedSequence + 1
    if missing != requestedSequence {
      requestInterval = Self.requestIntervalMilliseconds
    } else if now < nextRequest {
      return nil
    } else {
      requestInterval = min(2 * requestInterval, Self.requestIntervalMillisecondsMaximum)
    }
    requestedSequence = missing
    nextRequest = now.advanced(byMilliseconds: requestInterval)
    return missing
  }
}
